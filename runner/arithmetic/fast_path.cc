// One pass, no tree: values are computed while the text is read. That is the walk's order as long
// as nothing is refused, and whatever would be refused is left to the walk.
#include "runner/arithmetic/fast_path.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "runner/arithmetic/number.h"

namespace runner::arithmetic {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr std::int64_t kExact = std::int64_t{1} << 53;
constexpr std::array<double, 23> kTens{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Whether the int is a float without rounding.
constexpr bool is_exact(std::int64_t value) { return value <= kExact && value >= -kExact; }

struct Value {
  double real = 0.0;
  std::int64_t integer = 0;
  bool is_float = false;
  int height = 0;  // of the tree below

  double as_float() const { return is_float ? real : static_cast<double>(integer); }
};

class Plain {
 public:
  explicit Plain(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool run(Value& value) {
    skip_blanks();
    return sum(value, 0) && at_ == end_ && value.height <= kMaxDepth &&
           (!value.is_float || std::isfinite(value.real));
  }

 private:
  char peek() const { return at_ != end_ ? *at_ : '\0'; }
  void skip_blanks() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }

  // Steps over one of two operators, but not over the first half of ** or //.
  bool accept_operator(char one, char other, char& op) {
    op = peek();
    if (op != one && op != other) return false;
    if ((op == '*' || op == '/') && at_ + 1 != end_ && at_[1] == op) return false;
    ++at_;
    skip_blanks();
    return true;
  }

  bool sum(Value& left, int brackets) {
    if (!product(left, brackets)) return false;
    for (char op; accept_operator('+', '-', op);) {
      Value right;
      if (!product(right, brackets) || !add(op, left, right)) return false;
    }
    return true;
  }

  bool product(Value& left, int brackets) {
    if (!factor(left, brackets)) return false;
    for (char op; accept_operator('*', '/', op);) {
      Value right;
      if (!factor(right, brackets)) return false;
      if (!(op == '*' ? add(op, left, right) : divide(left, right))) return false;
    }
    return true;
  }

  bool factor(Value& value, int brackets) {
    int signs = 0;
    bool negative = false;
    for (char op; accept_operator('+', '-', op); ++signs) negative ^= op == '-';
    if (!atom(value, brackets)) return false;
    value.height += signs;
    if (!negative) return true;
    value.real = -value.real;
    return !__builtin_sub_overflow(std::int64_t{0}, value.integer, &value.integer);
  }

  bool atom(Value& value, int brackets) {
    if (peek() == '(') {
      if (brackets >= kMaxDepth) return false;
      ++at_;
      skip_blanks();
      if (!sum(value, brackets + 1) || peek() != ')') return false;
      ++at_;
    } else if (!number(value)) {
      return false;
    }
    skip_blanks();
    return true;
  }

  // Decimal digits without underscores or leading zeros, at most 18 of them significant.
  bool number(Value& value) {
    const char* const begin = at_;
    std::uint64_t digits = 0;
    const char* const whole = at_;
    while (at_ != end_ && is_digit(*at_)) digits = digits * 10 + digit();
    std::ptrdiff_t count = at_ - whole;
    if (count > 1 && *whole == '0') return false;
    int scale = 0;
    if (peek() == '.') {
      value.is_float = true;
      ++at_;
      const char* const fraction = at_;
      while (at_ != end_ && is_digit(*at_)) digits = digits * 10 + digit();
      scale = static_cast<int>(fraction - at_);
      count += at_ - fraction;
    }
    if (count == 0) return false;
    if ((peek() | 0x20) == 'e' && !exponent(value, scale)) return false;
    if (!ends_number()) return false;
    if (!value.is_float) {
      value.integer = static_cast<std::int64_t>(digits);
      return count <= 18;
    }
    return to_real(begin, count, digits, scale, value);
  }

  std::uint64_t digit() { return static_cast<std::uint64_t>(*at_++ - '0'); }

  bool exponent(Value& value, int& scale) {
    value.is_float = true;
    ++at_;
    const bool negative = peek() == '-';
    if (negative || peek() == '+') ++at_;
    const char* const begin = at_;
    int size = 0;
    while (at_ != end_ && is_digit(*at_) && at_ - begin < 4) size = size * 10 + (*at_++ - '0');
    scale += negative ? -size : size;
    return at_ != begin;
  }

  bool ends_number() const {
    const char c = peek();
    return c == '\0' || is_blank(c) || c == '+' || c == '-' || c == '*' || c == '/' || c == ')';
  }

  // Exact digits and an exact power of ten give the nearest float in one operation.
  bool to_real(const char* begin, std::ptrdiff_t count, std::uint64_t digits, int scale,
               Value& value) const {
    if (count <= 18 && digits <= static_cast<std::uint64_t>(kExact) && std::abs(scale) <= 22) {
      const double exact = static_cast<double>(digits);
      const double ten = kTens[static_cast<std::size_t>(std::abs(scale))];
      value.real = scale < 0 ? exact / ten : exact * ten;
      return true;
    }
    return std::from_chars(begin, at_, value.real).ec == std::errc{};
  }

  static bool join(Value& left, const Value& right, double real) {
    left.real = real;
    left.is_float = true;
    left.height = std::max(left.height, right.height) + 1;
    return std::isfinite(real);
  }

  // + - *
  static bool add(char op, Value& left, const Value& right) {
    if (left.is_float || right.is_float) {
      const double a = left.as_float();
      const double b = right.as_float();
      return join(left, right, op == '+' ? a + b : op == '-' ? a - b : a * b);
    }
    left.height = std::max(left.height, right.height) + 1;
    if (op == '+') return !__builtin_add_overflow(left.integer, right.integer, &left.integer);
    if (op == '-') return !__builtin_sub_overflow(left.integer, right.integer, &left.integer);
    return !__builtin_mul_overflow(left.integer, right.integer, &left.integer);
  }

  static bool divide(Value& left, const Value& right) {
    const double divisor = right.as_float();
    if (divisor == 0.0) return false;
    if (!left.is_float && !right.is_float && !(is_exact(left.integer) && is_exact(right.integer)))
      return false;
    return join(left, right, left.as_float() / divisor);
  }

  const char* at_;
  const char* end_;
};

}  // namespace

bool evaluate_plain(std::string_view text, Verdict& verdict) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  if (text.size() > kMaxCodePoints) return false;
  Value value;
  if (!Plain(text).run(value)) return false;
  verdict.decision = Decision::kValue;
  if (value.is_float)
    append_repr(value.real, verdict.value);
  else
    append_repr(Number(value.integer), verdict.value);
  return true;
}

}  // namespace runner::arithmetic
