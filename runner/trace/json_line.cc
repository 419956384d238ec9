#include "runner/trace/json_line.h"

#include <array>

#include "runner/text.h"

namespace runner::trace {

namespace {

// RFC 8259 section 7: the quotation mark, the backslash and control characters. DEL needs none.
constexpr std::array<bool, 256> kEscaped = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0; c < 0x20; ++c) table.at(c) = true;
  table['"'] = table['\\'] = true;
  return table;
}();

}  // namespace

void JsonLine::comma() {
  if (!out_.empty() && out_.back() != '{' && out_.back() != '[') out_ += ',';
}

void JsonLine::key(const char* name) {
  comma();
  if (name != nullptr) out_.append(1, '"').append(name).append("\":");
}

void JsonLine::quote(std::string_view utf8) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  out_ += '"';
  std::size_t plain = 0;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    if (!kEscaped[c]) continue;
    out_.append(utf8, plain, i - plain);
    plain = i + 1;
    if (c == '\n') {
      out_ += "\\n";
    } else if (c >= 0x20) {
      out_ += '\\';
      out_ += static_cast<char>(c);
    } else {
      out_ += "\\u00";
      out_ += kDigits[c >> 4U];
      out_ += kDigits[c & 15U];
    }
  }
  out_.append(utf8, plain);
  out_ += '"';
}

void JsonLine::open(const char* name, char bracket) {
  comma();
  if (name != nullptr) {
    quote(name);
    out_ += ':';
  }
  out_ += bracket;
}

void JsonLine::text(const char* name, std::string_view utf8) {
  key(name);
  if (is_utf8(utf8)) return quote(utf8);
  quote(to_utf8(utf8));
}

void JsonLine::bytes(const char* name, std::string_view bytes) {
  const bool is_text = is_utf8(bytes);
  key(name);
  if (is_text) return quote(bytes);
  quote(to_utf8(bytes));
  const std::string other = std::string(name) + "_base64";
  key(other.c_str());
  quote(base64(bytes));
}

void JsonLine::number(const char* name, std::uint64_t value) {
  key(name);
  out_ += std::to_string(value);
}

void JsonLine::integer(const char* name, std::int64_t value) {
  key(name);
  out_ += std::to_string(value);
}

void JsonLine::literal(const char* name, std::string_view word) {
  key(name);
  out_ += word;
}

}  // namespace runner::trace
