#include "runner/arithmetic/string_literal.h"

#include <algorithm>

namespace runner::arithmetic {
namespace {

constexpr bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

constexpr bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

bool all_hex(std::string_view digits, std::size_t wanted) {
  return digits.size() >= wanted &&
         std::all_of(digits.begin(), digits.begin() + static_cast<std::ptrdiff_t>(wanted), is_hex);
}

// \U takes eight digits, at most 0010FFFF.
bool is_code_point(std::string_view digits) {
  return all_hex(digits, 8) && digits.starts_with("00") &&
         (digits[2] == '0' || (digits[2] == '1' && digits[3] == '0'));
}

// The name in \N{...}: whether Unicode has it is not known here, only whether it could.
bool is_name_like(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' ' ||
           c == '-';
  });
}

bool good_name_escape(std::string_view rest) {
  if (!rest.starts_with('{')) return false;
  const std::size_t close = rest.find('}');
  return close != std::string_view::npos && is_name_like(rest.substr(1, close - 1));
}

Failure check_bytes(std::string_view inside, Escapes escapes) {
  if (!std::all_of(inside.begin(), inside.end(), is_ascii))
    return {"a bytes literal holds ASCII only", 0};
  if (escapes == Escapes::kRaw) return {};
  for (std::size_t at = 0; at < inside.size(); ++at) {
    if (inside[at] != '\\') continue;
    ++at;
    if (at < inside.size() && inside[at] == 'x' && !all_hex(inside.substr(at + 1), 2))
      return {"invalid \\x escape", 0};
  }
  return {};
}

struct Prefix {
  std::size_t length = 0;
  StringKind kind = StringKind::kText;
  Escapes escapes = Escapes::kDecoded;
};

Prefix read_prefix(std::string_view token) {
  Prefix prefix;
  for (; token[prefix.length] != '"' && token[prefix.length] != '\''; ++prefix.length) {
    const char lower = static_cast<char>(token[prefix.length] | 0x20);
    if (lower == 'b') prefix.kind = StringKind::kBytes;
    if (lower == 'f') prefix.kind = StringKind::kFormat;
    if (lower == 'r') prefix.escapes = Escapes::kRaw;
  }
  return prefix;
}

}  // namespace

// Unknown escapes are left alone (a warning in Python); \x, \u, \U and \N must be whole.
Failure check_text_escapes(std::string_view inside) {
  for (std::size_t at = 0; at + 1 < inside.size(); ++at) {
    if (inside[at] != '\\') continue;
    ++at;
    const std::string_view rest = inside.substr(at + 1);
    switch (inside[at]) {
      case 'x':
        if (!all_hex(rest, 2)) return {"truncated \\x escape", 0};
        break;
      case 'u':
        if (!all_hex(rest, 4)) return {"truncated \\u escape", 0};
        break;
      case 'U':
        if (!is_code_point(rest)) return {"invalid \\U escape", 0};
        break;
      case 'N':
        if (!good_name_escape(rest)) return {"malformed \\N escape", 0};
        break;
      default:
        break;
    }
  }
  return {};
}

StringCheck check_string(std::string_view token) {
  const Prefix prefix = read_prefix(token);
  std::string_view inside = token.substr(prefix.length);
  const bool triple = inside.size() >= 6 && inside[1] == inside[0] && inside[2] == inside[0];
  const std::size_t width = triple ? 3 : 1;
  inside = inside.substr(width, inside.size() - 2 * width);
  switch (prefix.kind) {
    case StringKind::kBytes:
      return {prefix.kind, check_bytes(inside, prefix.escapes)};
    case StringKind::kFormat:
      return {prefix.kind, check_fstring(inside, prefix.escapes)};
    case StringKind::kText:
      break;
  }
  const bool raw = prefix.escapes == Escapes::kRaw;
  return {prefix.kind, raw ? Failure{} : check_text_escapes(inside)};
}

}  // namespace runner::arithmetic
