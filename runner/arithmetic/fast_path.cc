// One pass, no tree: values are computed while the text is read. That is the walk's order as long
// as nothing is refused, and whatever would be refused is left to the walk.
//
// What costs time here is a branch that the processor can't foretell: how many digits a number has,
// whether it has a point, whether it is an int. So digits are read eight at a time, and an int is
// carried along as a float too.
#include "runner/arithmetic/fast_path.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "runner/arithmetic/arithmetic.h"
#include "runner/arithmetic/number.h"

namespace runner::arithmetic {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::int64_t kExact = std::int64_t{1} << 53;
constexpr std::array<double, 23> kTens{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
// Whether the int is a float without rounding.
constexpr bool is_exact(std::int64_t value) { return value <= kExact && value >= -kExact; }

constexpr std::array<bool, 256> make_number_ends() {
  std::array<bool, 256> ends{};
  for (const char c : {'\0', ' ', '+', '-', '*', '/', ')'})
    ends[static_cast<unsigned char>(c)] = true;
  return ends;
}
constexpr std::array<bool, 256> kEndsNumber = make_number_ends();

constexpr std::ptrdiff_t kWord = sizeof(std::uint64_t);

std::uint64_t load(const char* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// The last eight characters of the text; before the first one of a shorter text stand zeros.
std::uint64_t load_last(std::string_view text) {
  if (text.size() >= sizeof(std::uint64_t)) return load(text.data() + text.size() - kWord);
  std::uint64_t word = 0;
  for (const char c : text)
    word = (word >> 8U) | (std::uint64_t{static_cast<unsigned char>(c)} << 56U);
  return word;
}

// The top bit of every byte that is no digit, right up to the first byte beyond ASCII.
std::uint64_t other_bytes(std::uint64_t word) {
  const std::uint64_t nibbles = word ^ 0x3030303030303030U;  // a digit becomes 0..9
  return ((nibbles + 0x7676767676767676U) | nibbles) & 0x8080808080808080U;
}

unsigned first_byte(std::uint64_t mask) {
  return static_cast<unsigned>(std::countr_zero(mask)) / 8U;
}

// The value of the first `count` characters, at most 7, all digits.
std::uint64_t digits_value(std::uint64_t word, unsigned count) {
  std::uint64_t digits = ((word ^ 0x3030303030303030U) << 1U) << (63U - 8U * count);
  digits = digits * 10 + (digits >> 8U);
  const std::uint64_t low = (digits & 0x000000FF000000FFU) * 0x000F424000000064U;
  const std::uint64_t high = ((digits >> 16U) & 0x000000FF000000FFU) * 0x0000271000000001U;
  return (low + high) >> 32U;
}

struct Value {
  double real;           // the value as a float, of an int too
  std::int64_t integer;  // the value of an int
  bool is_float;
};

class Plain {
 public:
  explicit Plain(std::string_view text)
      : at_(text.data()), end_(text.data() + text.size()), last_(load_last(text)) {}

  // Whether the whole text is an expression: then result() is its value.
  bool run() {
    skip_blanks();
    return sum(0) && at_ == end_ && operators_ <= kMaxDepth && std::isfinite(result_.real);
  }

  const Value& result() const { return result_; }

 private:
  // The character at the cursor, or NUL at the end.
  char peek() const { return at_ != end_ ? *at_ : '\0'; }

  // Eight characters from the cursor on, with zeros after the end. The text is read where it
  // stands: a copy would be read before it is written out, which stalls.
  std::uint64_t peek_word() const {
    const std::ptrdiff_t left = end_ - at_;
    if (left >= kWord) return load(at_);
    return (last_ >> 1U) >> (63U - 8U * static_cast<unsigned>(left));
  }

  void skip_blanks() {
    while (peek() == ' ') ++at_;
  }

  // Terms and the factors in them; the value goes to result_.
  bool sum(int brackets) {
    Value total{};
    char sign = '\0';
    for (;; ++operators_) {
      Value term;
      if (!product(term, brackets)) return false;
      if (sign == '\0')
        total = term;
      else if (!add(total, term, sign))
        return false;
      if (peek() != '+' && peek() != '-') break;
      sign = *at_++;
      skip_blanks();
    }
    result_ = total;
    return true;
  }

  [[gnu::always_inline]] bool product(Value& left, int brackets) {
    if (!factor(left, brackets)) return false;
    while (peek() == '*' || peek() == '/') {
      const char op = *at_++;
      if (peek() == op) return false;  // ** or //
      ++operators_;
      skip_blanks();
      Value right;
      if (!factor(right, brackets)) return false;
      if (!multiply_or_divide(left, right, op)) return false;
    }
    return true;
  }

  // Most factors are short numbers: those are read right here, and nothing is put in memory.
  [[gnu::always_inline]] bool factor(Value& value, int brackets) {
    if (!short_number(value)) {
      if (!other_factor(brackets)) return false;
      value = result_;
    }
    skip_blanks();
    return true;
  }

  // Signs, brackets and every other number; the value goes to result_.
  bool other_factor(int brackets) {
    if (peek() == '+' || peek() == '-') return signed_factor(brackets);
    if (peek() != '(') return any_number(result_);
    if (brackets >= kMaxDepth) return false;
    ++at_;
    skip_blanks();
    if (!sum(brackets + 1) || peek() != ')') return false;
    ++at_;
    return true;
  }

  bool signed_factor(int brackets) {
    bool negative = false;
    for (; peek() == '+' || peek() == '-'; ++operators_) {
      negative ^= *at_++ == '-';
      skip_blanks();
    }
    if (!short_number(result_) && !other_factor(brackets)) return false;
    if (!negative) return true;
    result_.real = result_.is_float ? -result_.real : 0.0 - result_.real;  // int 0 has no sign
    return !__builtin_sub_overflow(std::int64_t{0}, result_.integer, &result_.integer);
  }

  // A number of up to seven characters, with or without a point: it and what ends it are in one
  // word, and the point is taken out of the digits by shifting. False leaves the cursor alone.
  [[gnu::always_inline]] bool short_number(Value& value) {
    const std::uint64_t word = peek_word();
    const std::uint64_t others = other_bytes(word);
    const unsigned whole = first_byte(others);
    if (whole - 1U >= 7U || (whole > 1 && (word & 0xFFU) == '0')) return false;
    // No branch on the point: whether a number has one is as good as random.
    const std::uint64_t point = static_cast<std::uint64_t>(((word >> (8U * whole)) & 0xFFU) == '.');
    const std::uint64_t has_point = 0U - point;
    const unsigned length = first_byte(others & ~(has_point & others & (0U - others)));
    if (length >= 8U || !kEndsNumber[(word >> (8U * length)) & 0xFFU]) return false;
    const std::uint64_t before = (std::uint64_t{1} << (8U * whole)) - 1;
    const std::uint64_t spliced = (word & before) | ((word >> 8U) & ~before);
    const std::uint64_t digits = word ^ ((word ^ spliced) & has_point);
    const unsigned count = length - static_cast<unsigned>(point);
    value.integer = static_cast<std::int64_t>(digits_value(digits, count));
    value.real = static_cast<double>(value.integer) / kTens[count - whole];
    value.is_float = point != 0;
    at_ += length;
    return true;
  }

  // Decimal digits without underscores or leading zeros, at most 18 of them in an int.
  bool any_number(Value& value) {
    const char* const begin = at_;
    std::uint64_t digits = 0;
    while (is_digit(peek())) digits = digits * 10 + digit();
    std::ptrdiff_t count = at_ - begin;
    if (count > 1 && *begin == '0') return false;
    value.is_float = peek() == '.';
    int scale = 0;
    if (value.is_float) {
      const char* const fraction = ++at_;
      while (is_digit(peek())) digits = digits * 10 + digit();
      scale = static_cast<int>(fraction - at_);
      count += at_ - fraction;
    }
    if (count == 0) return false;
    if ((peek() | 0x20) == 'e' && !exponent(value, scale)) return false;
    if (!kEndsNumber[static_cast<unsigned char>(peek())]) return false;
    value.integer = static_cast<std::int64_t>(digits);
    value.real = static_cast<double>(value.integer);
    if (!value.is_float) return count <= 18;
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
    while (is_digit(peek()) && at_ - begin < 4) size = size * 10 + (*at_++ - '0');
    scale += negative ? -size : size;
    return at_ != begin;
  }

  // Exact digits and an exact power of ten give the nearest float in one operation.
  bool to_real(const char* begin, std::ptrdiff_t count, std::uint64_t digits, int scale,
               Value& value) const {
    if (count <= 18 && digits <= static_cast<std::uint64_t>(kExact) && std::abs(scale) <= 22) {
      const double ten = kTens[static_cast<std::size_t>(std::abs(scale))];
      value.real = scale < 0 ? value.real / ten : value.real * ten;
      return true;
    }
    return std::from_chars(begin, at_, value.real).ec == std::errc{};
  }

  // The result of an operation; false where it is infinite.
  static bool join(Value& left, const Value& right, double real) {
    left.is_float |= right.is_float;
    left.real = left.is_float ? real : static_cast<double>(left.integer);
    return std::isfinite(left.real);
  }

  // False also where a big int came out.
  static bool add(Value& left, const Value& right, char op) {
    const bool minus = op == '-';
    const double real = left.real + (minus ? -right.real : right.real);
    const bool overflow = minus
                              ? __builtin_sub_overflow(left.integer, right.integer, &left.integer)
                              : __builtin_add_overflow(left.integer, right.integer, &left.integer);
    return join(left, right, real) && (left.is_float || !overflow);
  }

  // Both are computed and one is taken: which one is as good as random. A quotient of ints counts
  // only where both are floats exactly.
  [[gnu::always_inline]] static bool multiply_or_divide(Value& left, const Value& right, char op) {
    const bool divides = op == '/';
    const bool floats = left.is_float || right.is_float;
    const bool exact = is_exact(left.integer) && is_exact(right.integer);
    const double product = left.real * right.real;
    const double quotient = left.real / right.real;
    const bool overflow = __builtin_mul_overflow(left.integer, right.integer, &left.integer);
    const bool bad = divides ? right.real == 0.0 || !(floats || exact) : overflow && !floats;
    left.is_float |= divides;
    return !bad && join(left, right, divides ? quotient : product);
  }

  const char* at_;
  const char* end_;
  std::uint64_t last_;
  Value result_{};
  int operators_ = 0;  // no tree is deeper than it has operators
};

}  // namespace

char* evaluate_plain(std::string_view text, char* out) {
  if (text.empty() || text.size() > kMaxCodePoints) return nullptr;
  Plain plain(text);
  if (!plain.run()) return nullptr;
  const Value& value = plain.result();
  if (value.is_float) return write_repr(value.real, out);
  return std::to_chars(out, out + kPlainSize, value.integer).ptr;
}

}  // namespace runner::arithmetic
