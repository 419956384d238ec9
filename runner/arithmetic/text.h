// Text as Python sees it: code points out of UTF-8, Unicode whitespace, identifiers.
// Pure functions over borrowed bytes; nothing allocates unless it says so; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace runner::arithmetic {

// One decoded code point and how many bytes it took (1..4). A byte that belongs to no valid
// sequence decodes as the lone surrogate U+DC80 + (byte - 0x80), as Python's surrogateescape does;
// a surrogate encoded in three bytes (WTF-8) decodes as itself.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
};
CodePoint decode(std::string_view text, std::size_t at);

// What one pass over a text finds out.
struct TextFacts {
  std::size_t code_points = 0;
  std::size_t first_nul = std::string_view::npos;        // in code points
  std::size_t first_surrogate = std::string_view::npos;  // in code points
};
TextFacts survey(std::string_view text);

// Whether each character is one from the blank to DEL: so it's one line, without NUL, tab or CR.
bool is_ascii_line(std::string_view text);

// str.strip(): without the Unicode whitespace at both ends.
std::string_view strip_in_full(std::string_view text);
inline std::string_view strip(std::string_view text) {
  const auto plain = [](char c) { return c > ' ' && c < '\x7f'; };
  if (!text.empty() && plain(text.front()) && plain(text.back())) return text;
  return strip_in_full(text);
}

// True for NONE in any case, as `text.upper() == "NONE"` is. No character beyond ASCII has an
// upper case that would make it so.
bool is_none(std::string_view text);

// Whether Python accepts the bytes as an identifier (XID_Start, XID_Continue and `_`).
bool is_identifier(std::string_view name);

// The identifier after NFKC where that is made of lower-case letters, digits and `_` only;
// otherwise a text that no name of ours equals.
std::string folded_identifier(std::string_view name);

// The parts in a row.
std::string concat(std::initializer_list<std::string_view> parts);

// Appends the code point as UTF-8; a surrogate becomes three bytes (WTF-8).
void append_utf8(char32_t code, std::string& out);

// Appends the text as the inside of a JSON string, ASCII only.
void append_json_escaped(std::string_view text, std::string& out);

}  // namespace runner::arithmetic
