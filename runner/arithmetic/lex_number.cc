// Number literals, with CPython's rule for what may follow one: a keyword may (`1if x else 2`,
// deprecated but valid in 3.11), any other letter may not.
#include "runner/arithmetic/lexer.h"

namespace runner::arithmetic {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_octal(char c) { return c >= '0' && c <= '7'; }
constexpr bool is_binary(char c) { return c == '0' || c == '1'; }
constexpr bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
constexpr bool is_name_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class NumberScanner {
 public:
  NumberScanner(std::string_view text, std::size_t at) : text_(text), begin_(at), at_(at) {}

  NumberScan scan() {
    if (peek() == '0' && (peek(1) | 0x20) == 'x') return radix(is_hex, kHex);
    if (peek() == '0' && (peek(1) | 0x20) == 'o') return radix(is_octal, kOctal);
    if (peek() == '0' && (peek(1) | 0x20) == 'b') return radix(is_binary, kBinary);
    return decimal();
  }

 private:
  static constexpr std::string_view kHex = "invalid hexadecimal literal";
  static constexpr std::string_view kOctal = "invalid octal literal";
  static constexpr std::string_view kBinary = "invalid binary literal";
  static constexpr std::string_view kDecimal = "invalid decimal literal";
  static constexpr std::string_view kImaginary = "invalid imaginary literal";

  // The character at the cursor, or NUL at the end: a text holds no NUL of its own.
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  NumberScan fail(std::string_view text) const { return {Tok::kInteger, 0, Failure{text, at_}}; }

  NumberScan radix(bool (*accepts)(char), std::string_view message) {
    at_ += 2;
    do {
      if (peek() == '_') ++at_;
      if (!accepts(peek())) return fail(message);
      while (accepts(peek())) ++at_;
    } while (peek() == '_');
    if (is_digit(peek())) return fail(message);
    return finish(Tok::kInteger, message);
  }

  // Digits with single underscores between them; false where an underscore leads nowhere.
  bool digits() {
    for (;;) {
      while (is_digit(peek())) ++at_;
      if (peek() != '_') return true;
      ++at_;
      if (!is_digit(peek())) return false;
    }
  }

  NumberScan decimal() {
    if (is_digit(peek())) {
      const bool leading_zero = peek() == '0';
      if (!digits()) return fail(kDecimal);
      if (leading_zero && !at_float_part() && !only_zeros())
        return fail("leading zeros in an integer; write an octal number as 0o...");
    }
    Tok kind = Tok::kInteger;
    if (peek() == '.') {
      kind = Tok::kFloat;
      ++at_;
      if (is_digit(peek()) && !digits()) return fail(kDecimal);
    }
    return exponent(kind);
  }

  bool at_float_part() const {
    const char c = peek();
    return c == '.' || (c | 0x20) == 'j' || (c | 0x20) == 'e';
  }

  bool only_zeros() const {
    return text_.substr(begin_, at_ - begin_).find_first_not_of("0_") == std::string_view::npos;
  }

  NumberScan exponent(Tok kind) {
    if ((peek() | 0x20) == 'e') {
      const bool has_sign = peek(1) == '+' || peek(1) == '-';
      if (is_digit(peek(has_sign ? 2 : 1))) {
        at_ += has_sign ? 2 : 1;
        if (!digits()) return fail(kDecimal);
        kind = Tok::kFloat;
      } else if (has_sign) {
        return fail(kDecimal);
      }
    }
    if ((peek() | 0x20) == 'j') {
      ++at_;
      return finish(Tok::kImaginary, kImaginary);
    }
    return finish(kind, kDecimal);
  }

  bool keyword_follows() const {
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view word : {"and", "else", "for", "if", "in", "is", "or", "not"})
      if (rest.starts_with(word)) return true;
    return false;
  }

  NumberScan finish(Tok kind, std::string_view message) const {
    if (is_name_part(peek()) && !keyword_follows()) return fail(message);
    return {kind, at_ - begin_, {}};
  }

  std::string_view text_;
  std::size_t begin_;
  std::size_t at_;
};

}  // namespace

NumberScan scan_number(std::string_view text, std::size_t at) {
  return NumberScanner(text, at).scan();
}

}  // namespace runner::arithmetic
