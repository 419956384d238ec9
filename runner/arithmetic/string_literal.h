// What Python checks inside a string literal: escapes, bytes that must be ASCII, and the
// expressions, conversions and format specs of an f-string. Pure; any thread; no allocation.
#pragma once

#include <cstdint>
#include <string_view>

#include "runner/arithmetic/token.h"

namespace runner::arithmetic {

enum class StringKind : std::uint8_t { kText, kBytes, kFormat };

struct StringCheck {
  StringKind kind = StringKind::kText;
  Failure failure;
};

// `token`: one whole literal as the lexer cut it, with prefix and quotes.
StringCheck check_string(std::string_view token);

// The pieces, for fstring.cc.
enum class Escapes : std::uint8_t { kDecoded, kRaw };
Failure check_text_escapes(std::string_view inside);
Failure check_fstring(std::string_view inside, Escapes escapes);

}  // namespace runner::arithmetic
