// One pass, no tree: values are computed while the text is read. That is the walk's order but for
// sums, which wait for the term after them: a sum of what is in range here never fails.
//
// What costs time here is a branch that the processor can't foretell: how many digits a number has,
// whether it has a point, whether it is an int, which operator comes next. So digits are read eight
// at a time, an int is carried as a float as long as it is one exactly, and an operator computes
// what every operator would and takes its own.
#include "runner/arithmetic/fast_path.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

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

// At most seven characters as the last ones of a word.
std::uint64_t load_short(std::string_view text) {
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

// A float that stays in a vector register, where a choice between two is cheap. Both lanes agree.
using Real = double __attribute__((vector_size(16)));
using Mask = std::int64_t __attribute__((vector_size(16)));  // all ones or all zeros

[[gnu::always_inline]] inline Mask select(Mask mask, Mask yes, Mask no) {
  return (yes & mask) | (no & ~mask);
}
[[gnu::always_inline]] inline Real select(Mask mask, Real yes, Real no) {
  return std::bit_cast<Real>(select(mask, std::bit_cast<Mask>(yes), std::bit_cast<Mask>(no)));
}
[[gnu::always_inline]] inline Real flipped(Real value, Mask sign) {
  return std::bit_cast<Real>(std::bit_cast<Mask>(value) ^ sign);
}

constexpr std::int64_t kSign = std::numeric_limits<std::int64_t>::min();

struct Value {
  Real real{-0.0, -0.0};  // -0.0 + x is x
  Mask is_float{0, 0};
  int height = 0;  // of its tree
};

struct Operation {
  Mask adds;     // + and -
  Mask divides;  // /
  Mask sign;     // of what - takes away
  int is_sum;
};
constexpr Mask kNo{0, 0};
constexpr Mask kYes{-1, -1};
constexpr std::array<Mask, 2> kPoint{kNo, kYes};
constexpr Real kZero{0.0, 0.0};
// By the last three bits of * + - /.
constexpr std::array<Operation, 8> kOperations{{{kNo, kNo, kNo, 0},
                                                {kNo, kNo, kNo, 0},
                                                {kNo, kNo, kNo, 0},
                                                {kYes, kNo, kNo, 1},
                                                {kNo, kNo, kNo, 0},
                                                {kYes, kNo, Mask{kSign, kSign}, 1},
                                                {kNo, kNo, kNo, 0},
                                                {kNo, kYes, kNo, 0}}};
constexpr bool is_operator(char c) { return c == '*' || c == '+' || c == '-' || c == '/'; }
constexpr const Operation& operation_of(char c) {
  return kOperations[static_cast<unsigned char>(c) & 7U];
}

// What is known within a pair of brackets: a sum, and a term that may still grow before it joins.
struct Level {
  Value sum;
  Value term;
  Mask sign = kNo;  // of the term within the sum
  int has_sum = 0;  // 0 while the sum is nothing yet
};

// Why a text has no value that counts.
enum class Fault : std::uint8_t { kNone, kDivision, kFloatDivision, kOther };

Fault fault_of(const Operation& op, const Value& left, const Value& right) {
  if (op.divides[0] == 0 || right.real[0] != 0.0) return Fault::kOther;
  return (left.is_float[0] | right.is_float[0]) != 0 ? Fault::kFloatDivision : Fault::kDivision;
}

// Whether the value is finite, and exact where it is an int.
[[gnu::always_inline]] inline bool counts(Real value, Mask is_float) {
  constexpr Real kInfinity{std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::infinity()};
  constexpr Real kMost{static_cast<double>(kExact), static_cast<double>(kExact)};
  const Real limit =
      std::bit_cast<Real>((std::bit_cast<Mask>(kInfinity) & is_float) | std::bit_cast<Mask>(kMost));
  return std::fabs(value[0]) < limit[0];
}

// The sum with the term in it.
[[gnu::always_inline]] inline Value joined(const Level& level) {
  return {level.sum.real + flipped(level.term.real, level.sign),
          level.sum.is_float | level.term.is_float,
          std::max(level.sum.height, level.term.height) + level.has_sum};
}

// Takes an operand in. Both what + does and what * or / does is computed: which one counts is as
// good as random.
[[gnu::always_inline]] inline void apply(Level& level, const Operation& op, const Value& operand,
                                         Fault& fault) {
  const Value term = level.term;
  const Value total = joined(level);
  Value grown;
  grown.is_float = term.is_float | operand.is_float | op.divides;
  grown.height = std::max(term.height, operand.height) + 1;
  // An int has no negative zero: 0.0 is added to it, and -0.0 to a float.
  const Real nothing = std::bit_cast<Real>(grown.is_float & Mask{kSign, kSign});
  grown.real = select(op.divides, term.real / operand.real, term.real * operand.real + nothing);
  const Real result = select(op.adds, total.real, grown.real);
  if (!counts(result, select(op.adds, total.is_float, grown.is_float))) [[unlikely]]
    if (fault == Fault::kNone) fault = fault_of(op, term, operand);
  const bool adds = op.is_sum != 0;
  level.sum.real = select(op.adds, total.real, level.sum.real);
  level.sum.is_float = select(op.adds, total.is_float, level.sum.is_float);
  level.sum.height = adds ? total.height : level.sum.height;
  level.term.real = select(op.adds, operand.real, grown.real);
  level.term.is_float = select(op.adds, operand.is_float, grown.is_float);
  level.term.height = adds ? operand.height : grown.height;
  level.sign = select(op.adds, op.sign, level.sign);
  level.has_sum |= op.is_sum;
}

class Plain {
 public:
  // Eight characters before `end` can be read: the text is read where it stands, since a copy
  // would be read before it is written out, which stalls.
  Plain(const char* begin, const char* end) : begin_(begin), end_(end) {}

  // Whether the whole text is an expression: then result() and fault() say what it comes to.
  bool run() { return sum(after_blanks(begin_), 0, result_) == end_; }

  const Value& result() const { return result_; }
  Fault fault() const { return fault_; }

 private:
  // The character there, or NUL at the end.
  char peek(const char* at) const { return at != end_ ? *at : '\0'; }

  const char* after_blanks(const char* at) const {
    while (at != end_ && *at == ' ') ++at;
    return at;
  }

  // Terms and the factors in them, up to what is neither. Null where the text isn't plain.
  const char* sum(const char* at, int brackets, Value& result) {
    Level level;
    at = operand(at, brackets, level.term);
    if (at == nullptr) return nullptr;
    while (at != end_ && is_operator(*at)) {
      const Operation& op = operation_of(*at);
      Value right;
      at = operand(after_blanks(at + 1), brackets, right);
      if (at == nullptr) return nullptr;
      apply(level, op, right, fault_);
    }
    result = joined(level);
    if (!counts(result.real, result.is_float) && fault_ == Fault::kNone) fault_ = Fault::kOther;
    return at;
  }

  // Most operands are short numbers: those are read right here, and nothing is put in memory.
  [[gnu::always_inline]] const char* operand(const char* at, int brackets, Value& value) {
    if (const char* const next = short_number(at, value)) [[likely]]
      return after_blanks(next);
    Value other;
    at = other_operand(at, brackets, other);
    if (at == nullptr) return nullptr;
    value = other;
    return after_blanks(at);
  }

  // Signs, brackets and every other number.
  const char* other_operand(const char* at, int brackets, Value& value) {
    bool negative = false;
    int signs = 0;
    for (; peek(at) == '+' || peek(at) == '-'; ++signs) {
      negative ^= *at == '-';
      at = after_blanks(at + 1);
    }
    if (peek(at) == '(') {
      if (brackets >= kMaxDepth) return nullptr;
      at = sum(after_blanks(at + 1), brackets + 1, value);
      if (at == nullptr || peek(at) != ')') return nullptr;
      ++at;
    } else {
      const char* const next = short_number(at, value);
      at = next != nullptr ? next : any_number(at, value);
    }
    // 0 has no sign where it is an int.
    if (negative) value.real = value.is_float[0] != 0 ? -value.real : kZero - value.real;
    value.height += signs;
    return at;
  }

  // Eight characters, with zeros after the end; not at the end.
  std::uint64_t word_at(const char* at) const {
    const char* const from = std::min(at, end_ - kWord);
    return load(from) >> (8U * static_cast<unsigned>(at - from));
  }

  // A number of up to seven characters, with or without a point: it and what ends it are in one
  // word, and the point is taken out of the digits by shifting. Null where there is none.
  [[gnu::always_inline]] const char* short_number(const char* at, Value& value) const {
    if (at == end_) return nullptr;
    const std::uint64_t word = word_at(at);
    const std::uint64_t others = other_bytes(word);
    const unsigned whole = first_byte(others);
    if (whole - 1U >= 7U || (whole > 1 && (word & 0xFFU) == '0')) return nullptr;
    // No branch on the point: whether a number has one is as good as random.
    const std::uint64_t point = static_cast<std::uint64_t>(((word >> (8U * whole)) & 0xFFU) == '.');
    const std::uint64_t has_point = 0U - point;
    const unsigned length = first_byte(others & ~(has_point & others & (0U - others)));
    if (length >= 8U || !kEndsNumber[(word >> (8U * length)) & 0xFFU]) return nullptr;
    const std::uint64_t before = (std::uint64_t{1} << (8U * whole)) - 1;
    const std::uint64_t spliced = (word & before) | ((word >> 8U) & ~before);
    const std::uint64_t digits = word ^ ((word ^ spliced) & has_point);
    const unsigned count = length - static_cast<unsigned>(point);
    const auto number = static_cast<double>(static_cast<std::int64_t>(digits_value(digits, count)));
    const double real = number / kTens[count - whole];
    value.real = Real{real, real};
    value.is_float = kPoint[point];
    return at + length;
  }

  // Decimal digits without underscores or leading zeros; an int stays below 2^53.
  const char* any_number(const char* at, Value& value) const {
    const char* const begin = at;
    std::uint64_t digits = 0;
    for (; is_digit(peek(at)); ++at) digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
    std::ptrdiff_t count = at - begin;
    if (count > 1 && *begin == '0') return nullptr;
    std::ptrdiff_t decimals = 0;
    if (peek(at) == '.') {
      const char* const fraction = ++at;
      for (; is_digit(peek(at)); ++at) digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
      decimals = at - fraction;
      count += decimals;
      value.is_float = kYes;
    }
    if (count == 0 || !kEndsNumber[static_cast<unsigned char>(peek(at))]) return nullptr;
    // Exact digits and an exact power of ten give the nearest float in one operation.
    double real = 0.0;
    if (count <= 18 && digits < static_cast<std::uint64_t>(kExact)) {
      real = static_cast<double>(static_cast<std::int64_t>(digits)) /
             kTens[static_cast<std::size_t>(decimals)];
    } else {
      if (value.is_float[0] == 0) return nullptr;
      if (std::from_chars(begin, at, real).ec != std::errc{}) return nullptr;
    }
    value.real = Real{real, real};
    return at;
  }

  const char* begin_;
  const char* end_;
  Value result_;
  Fault fault_ = Fault::kNone;
};

PlainVerdict verdict_of(const Plain& plain, char* out) {
  const Value& value = plain.result();
  const bool deep = value.height > kMaxDepth;
  switch (plain.fault()) {
    case Fault::kNone:
      if (deep) return {PlainVerdict::kTooDeep, out};
      if (value.is_float[0] != 0) return {PlainVerdict::kValue, write_repr(value.real[0], out)};
      return {PlainVerdict::kValue,
              std::to_chars(out, out + kPlainSize, static_cast<std::int64_t>(value.real[0])).ptr};
    case Fault::kDivision:
      if (!deep) return {PlainVerdict::kDivision, out};
      break;
    case Fault::kFloatDivision:
      if (!deep) return {PlainVerdict::kFloatDivision, out};
      break;
    case Fault::kOther:
      break;
  }
  return {PlainVerdict::kUnknown, out};
}

}  // namespace

PlainVerdict evaluate_plain(std::string_view text, char* out) {
  if (text.empty() || text.size() > kMaxCodePoints) return {PlainVerdict::kUnknown, out};
  const char* end = text.data() + text.size();
  const char* begin = text.data();
  std::uint64_t word = 0;
  if (text.size() < sizeof word) {
    word = load_short(text);
    end = reinterpret_cast<const char*>(&word) + sizeof word;
    begin = end - text.size();
  }
  Plain plain(begin, end);
  if (!plain.run()) return {PlainVerdict::kUnknown, out};
  return verdict_of(plain, out);
}

}  // namespace runner::arithmetic
