#include "runner/arithmetic/text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

namespace runner::arithmetic {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};
struct Fold {
  char32_t code;
  const char* text;
};
#include "runner/arithmetic/unicode_tables.inc"

template <std::size_t N>
bool contains(const Range (&table)[N], char32_t code) {
  const auto* after = std::upper_bound(std::begin(table), std::end(table), code,
                                       [](char32_t c, const Range& r) { return c < r.first; });
  return after != std::begin(table) && code <= std::prev(after)->last;
}

constexpr unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

constexpr CodePoint escaped_byte(unsigned byte) { return {0xDC00U + byte, 1}; }

// How long the sequence is that this byte leads: 0 for a byte that leads none.
constexpr std::size_t sequence_length(unsigned lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

bool is_space(char32_t code) {
  if (code < 0x80)
    return code == ' ' || (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x1F);
  if (code < 0x1680) return code == 0x85 || code == 0xA0;
  return code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

// Where the last code point of a non-empty text begins.
std::size_t last_start(std::string_view text) {
  for (std::size_t back = std::min<std::size_t>(4, text.size()); back > 1; --back)
    if (decode(text, text.size() - back).bytes == back) return text.size() - back;
  return text.size() - 1;
}

constexpr bool is_ascii_word(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool may_start(char32_t c) {
  if (c < 0x80) return is_ascii_word(c) && !(c >= '0' && c <= '9');
  return contains(kIdentifierStart, c);
}

bool may_continue(char32_t c) {
  return c < 0x80 ? is_ascii_word(c) : contains(kIdentifierContinue, c);
}

constexpr bool is_json_plain(char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; }

void append_escape(char32_t unit, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (unsigned shift = 16; shift != 0;) {
    shift -= 4;
    out += kHex[(unit >> shift) & 0xFU];
  }
}

}  // namespace

CodePoint decode(std::string_view text, std::size_t at) {
  const unsigned lead = byte_at(text, at);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = sequence_length(lead);
  if (length == 0 || at + length > text.size()) return escaped_byte(lead);
  char32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned next = byte_at(text, at + i);
    if ((next & 0xC0U) != 0x80) return escaped_byte(lead);
    code = (code << 6U) | (next & 0x3FU);
  }
  static constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF) return escaped_byte(lead);
  return {code, length};
}

// Eight characters at a time.
bool is_ascii_line(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  const auto odd =
      [](std::uint64_t word) {  // the first odd character shows, no other one before it
        return ((word | (word - kOnes * ' ')) & (kOnes << 7U)) != 0;
      };
  const auto word_at = [&text](std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    return word;
  };
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (text.size() < kWord)
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) - 0x20U < 0x60U; });
  for (std::size_t at = 0; at + kWord < text.size(); at += kWord)
    if (odd(word_at(at))) return false;
  return !odd(word_at(text.size() - kWord));
}

TextFacts survey(std::string_view text) {
  TextFacts facts;
  if (is_ascii_line(text)) {
    facts.code_points = text.size();
    return facts;
  }
  for (std::size_t at = 0; at < text.size(); ++facts.code_points) {
    if (byte_at(text, at) - 1U < 0x7FU) {  // ASCII, but for NUL
      ++at;
      continue;
    }
    const CodePoint next = decode(text, at);
    if (next.value == 0 && facts.first_nul == std::string_view::npos)
      facts.first_nul = facts.code_points;
    if (next.value >= 0xD800 && next.value <= 0xDFFF &&
        facts.first_surrogate == std::string_view::npos)
      facts.first_surrogate = facts.code_points;
    at += next.bytes;
  }
  return facts;
}

std::string_view strip_in_full(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = decode(text, 0);
    if (!is_space(first.value)) break;
    text.remove_prefix(first.bytes);
  }
  while (!text.empty()) {
    const std::size_t start = last_start(text);
    if (!is_space(decode(text, start).value)) break;
    text.remove_suffix(text.size() - start);
  }
  return text;
}

bool is_none(std::string_view text) {
  static constexpr std::string_view kNone = "none";
  return text.size() == kNone.size() &&
         std::equal(text.begin(), text.end(), kNone.begin(), [](char have, char want) {
           return have == want || have == static_cast<char>(want - 'a' + 'A');
         });
}

bool is_identifier(std::string_view name) {
  for (std::size_t at = 0; at < name.size();) {
    const CodePoint next = decode(name, at);
    if (!(at == 0 ? may_start(next.value) : may_continue(next.value))) return false;
    at += next.bytes;
  }
  return !name.empty();
}

std::string folded_identifier(std::string_view name) {
  std::string folded;
  for (std::size_t at = 0; at < name.size();) {
    const CodePoint next = decode(name, at);
    const auto* fold = std::lower_bound(std::begin(kAsciiFolds), std::end(kAsciiFolds), next.value,
                                        [](const Fold& f, char32_t c) { return f.code < c; });
    if (fold != std::end(kAsciiFolds) && fold->code == next.value)
      folded += fold->text;
    else
      append_utf8(next.value, folded);
    at += next.bytes;
  }
  return folded;
}

std::string concat(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string whole;
  whole.reserve(size);
  for (const std::string_view part : parts) whole += part;
  return whole;
}

void append_utf8(char32_t code, std::string& out) {
  const auto push = [&out](char32_t byte) {
    out += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xC0U | (code >> 6U));
    push(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    push(0xE0U | (code >> 12U));
    push(0x80U | ((code >> 6U) & 0x3FU));
    push(0x80U | (code & 0x3FU));
  } else {
    push(0xF0U | (code >> 18U));
    push(0x80U | ((code >> 12U) & 0x3FU));
    push(0x80U | ((code >> 6U) & 0x3FU));
    push(0x80U | (code & 0x3FU));
  }
}

void append_json_escaped(std::string_view text, std::string& out) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_json_plain(text[end])) ++end;
    out.append(text.data() + at, end - at);
    at = end;
    if (at == text.size()) return;
    const CodePoint next = decode(text, at);
    at += next.bytes;
    if (next.value == '"' || next.value == '\\') {
      out += '\\';
      out += static_cast<char>(next.value);
    } else if (next.value < 0x10000) {
      append_escape(next.value, out);
    } else {
      append_escape(0xD7C0U + (next.value >> 10U), out);
      append_escape(0xDC00U + (next.value & 0x3FFU), out);
    }
  }
}

}  // namespace runner::arithmetic
