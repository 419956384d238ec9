// Bytes that came from a payload, made fit to be shown, and quantities made fit to be read.
// Pure; no locale; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "jail/units.h"

namespace runner {

// Length of the longest prefix that is well-formed UTF-8 (no surrogates, no overlong forms).
std::size_t utf8_prefix(std::string_view bytes) noexcept;
inline bool is_utf8(std::string_view bytes) noexcept { return utf8_prefix(bytes) == bytes.size(); }

// Every ill-formed byte becomes U+FFFD; well-formed text comes back unchanged.
std::string to_utf8(std::string_view bytes);

// Cuts a character that a cap has cut in half off the end (at most three bytes).
std::string_view without_partial_character(std::string_view bytes) noexcept;

// For a terminal: control characters, ill-formed bytes and the characters that reorder text are
// written as \n, \x1b or \u202e; a backslash as \\. Never contains an ESC.
std::string printable(std::string_view bytes);

// Two lower-case digits a byte.
std::string hex_text(std::span<const std::uint8_t> bytes);

// RFC 4648, with padding.
std::string base64(std::string_view bytes);

// RFC 4648, padding required, nothing else between the digits; nullopt for anything else.
std::optional<std::string> bytes_from_base64(std::string_view text);

// "512M" when it is a whole number of a unit, else one decimal: "37.2M", "8T", "17 bytes".
std::string size_text(jail::Bytes size);

// "250ms", "1.5s", "20m", "2h".
std::string duration_text(jail::Millis duration);

}  // namespace runner
