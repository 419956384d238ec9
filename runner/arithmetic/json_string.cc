#include "runner/arithmetic/json_string.h"

#include "runner/arithmetic/text.h"

namespace runner::arithmetic {
namespace {

constexpr std::string_view kBadEscape = "bad escape in the JSON string";
constexpr std::string_view kUnclosed = "the JSON string is not closed";

constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The four digits of a \u escape.
bool read_unit(std::string_view input, std::size_t at, char32_t& unit) {
  if (at + 4 > input.size()) return false;
  unit = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const int value = hex_value(input[at + i]);
    if (value < 0) return false;
    unit = unit * 16 + static_cast<char32_t>(value);
  }
  return true;
}

constexpr bool is_high(char32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
constexpr bool is_low(char32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

class StringReader {
 public:
  StringReader(std::string_view input, std::size_t at, std::string& storage)
      : input_(input), at_(at), storage_(storage) {}

  JsonString run() {
    const std::size_t begin = at_;
    if (!plain_run()) return failed();
    if (at_ < input_.size() && input_[at_] == '"')
      return {input_.substr(begin, at_ - begin), at_ + 1, {}};
    storage_.assign(input_.substr(begin, at_ - begin));
    while (at_ < input_.size() && input_[at_] != '"') {
      if (input_[at_] == '\\') {
        if (!escape()) return failed();
        continue;
      }
      const std::size_t from = at_;
      if (!plain_run()) return failed();
      storage_.append(input_.substr(from, at_ - from));
    }
    if (at_ >= input_.size()) {
      error_ = kUnclosed;
      return failed();
    }
    return {storage_, at_ + 1, {}};
  }

 private:
  JsonString failed() const { return {{}, at_, error_}; }

  bool fail(std::string_view error) {
    error_ = error;
    return false;
  }

  // Everything up to a quote, a backslash or the end: no control characters, valid UTF-8.
  bool plain_run() {
    while (at_ < input_.size()) {
      const char c = input_[at_];
      if (c == '"' || c == '\\') return true;
      if (static_cast<unsigned char>(c) < 0x20)
        return fail("a control character stands bare in the JSON string");
      if (static_cast<unsigned char>(c) < 0x80) {
        ++at_;
        continue;
      }
      const CodePoint next = decode(input_, at_);
      if (next.value >= 0xD800 && next.value <= 0xDFFF) return fail("the line is not UTF-8");
      at_ += next.bytes;
    }
    return true;
  }

  bool escape() {
    ++at_;
    const char c = at_ < input_.size() ? input_[at_] : '\0';
    if (c == 'u') return unicode_escape();
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    const std::size_t index = kNames.find(c);
    if (index == std::string_view::npos) return fail(kBadEscape);
    storage_ += kValues[index];
    ++at_;
    return true;
  }

  bool unicode_escape() {
    char32_t unit = 0;
    if (!read_unit(input_, at_ + 1, unit)) return fail(kBadEscape);
    at_ += 5;
    char32_t low = 0;
    if (is_high(unit) && input_.substr(at_).starts_with("\\u") && read_unit(input_, at_ + 2, low) &&
        is_low(low)) {
      unit = 0x10000 + ((unit - 0xD800) << 10U) + (low - 0xDC00);
      at_ += 6;
    }
    append_utf8(unit, storage_);
    return true;
  }

  std::string_view input_;
  std::size_t at_;
  std::string& storage_;
  std::string_view error_;
};

}  // namespace

JsonString read_json_string(std::string_view input, std::size_t at, std::string& storage) {
  return StringReader(input, at + 1, storage).run();
}

std::size_t skip_json_space(std::string_view input, std::size_t at) {
  while (at < input.size() &&
         (input[at] == ' ' || input[at] == '\t' || input[at] == '\n' || input[at] == '\r'))
    ++at;
  return at;
}

}  // namespace runner::arithmetic
