// One pass, no tree: values are computed while the text is read. That is the walk's order but for
// sums, which wait for the term after them: a sum of what is in range here never fails.
//
// What costs time here is a branch that the processor can't foretell: how many digits a number has,
// whether it has a point, whether it is an int, which operator comes next. So digits are read eight
// at a time, an int is carried as a float as long as it is one exactly, and an operator computes
// what every operator would and takes its own.
#include "runner/arithmetic/fast_path.h"

#include <emmintrin.h>

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

// A power of ten's inverse as a sum: with 29 bits, times seven digits it is exact, and what is left
// is so small that its own rounding can't reach the sum's. So digits * high + digits * low is the
// float nearest to digits / ten to the i, and comes sooner than by a division.
struct Tenth {
  double high;
  double low;
};
constexpr std::array<Tenth, 8> make_tenths() {
  std::array<Tenth, 8> tenths{};
  for (std::size_t i = 0; i < tenths.size(); ++i) {
    constexpr std::uint64_t kTop = ~std::uint64_t{0} << 24U;
    const double high = std::bit_cast<double>(std::bit_cast<std::uint64_t>(1 / kTens[i]) & kTop);
    tenths[i] = {high, (1 - high * kTens[i]) / kTens[i]};
  }
  return tenths;
}
constexpr std::array<Tenth, 8> kTenths = make_tenths();

constexpr std::ptrdiff_t kWord = sizeof(std::uint64_t);
constexpr std::ptrdiff_t kBlock = 16;
constexpr std::ptrdiff_t kWindow = 64;

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

// A bit for each of 16 characters: whether it is a digit or a point.
std::uint64_t number_bits(__m128i text) {
  const __m128i digits = _mm_sub_epi8(text, _mm_set1_epi8('0'));
  const __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
  const __m128i is_point = _mm_cmpeq_epi8(text, _mm_set1_epi8('.'));
  return static_cast<std::uint64_t>(_mm_movemask_epi8(_mm_or_si128(is_digit, is_point)));
}

std::uint64_t number_bits_at(const char* from) {
  return number_bits(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
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

// A number and, beside it, what kind it is: 0 for an int, NaN for a float. The processor computes
// both at once, and every rule holds by itself: a float with anything is a float, and 0 / 0 is NaN.
using Value = double __attribute__((vector_size(16)));
using Mask = std::int64_t __attribute__((vector_size(16)));  // all ones or all zeros

[[gnu::always_inline]] inline Value select(Mask mask, Value yes, Value no) {
  return std::bit_cast<Value>((std::bit_cast<Mask>(yes) & mask) |
                              (std::bit_cast<Mask>(no) & ~mask));
}
[[gnu::always_inline]] inline Value flipped(Value value, Mask sign) {
  return std::bit_cast<Value>(std::bit_cast<Mask>(value) ^ sign);
}

constexpr double kFloat = std::numeric_limits<double>::quiet_NaN();
constexpr std::array<double, 2> kKinds{0.0, kFloat};
bool is_float(Value value) { return std::isnan(value[1]); }

struct Operation {
  Mask adds;  // + and -
  Mask sign;  // of what - takes away
  bool divides;
  int is_sum;
};
constexpr Mask kNo{0, 0};
constexpr Mask kYes{-1, -1};
constexpr Mask kMinus{std::numeric_limits<std::int64_t>::min(), 0};
constexpr Operation kUnused{kNo, kNo, false, 0};
constexpr Operation kTimes{kNo, kNo, false, 0};
constexpr Operation kOver{kNo, kNo, true, 0};
constexpr Operation kAnd{kYes, kNo, false, 1};
constexpr Operation kLess{kYes, kMinus, false, 1};
// By the last three bits of * + - /.
constexpr std::array<Operation, 8> kOperations{kUnused, kUnused, kTimes,  kAnd,
                                               kUnused, kLess,   kUnused, kOver};
constexpr bool is_operator(char c) { return c == '*' || c == '+' || c == '-' || c == '/'; }
constexpr const Operation& operation_of(char c) {
  return kOperations[static_cast<unsigned char>(c) & 7U];
}

// What is known within a pair of brackets: a sum, and a term that may still grow before it joins.
struct Level {
  Value sum{-0.0, 0.0};  // -0.0 + x is x
  Value term;
  Mask sign = kNo;  // of the term within the sum

  Value joined() const { return sum + flipped(term, sign); }
};

// Why a text has no value that counts.
enum class Flaw : std::uint8_t { kNone, kDivision, kFloatDivision, kOther };

// Whether the value is exact where it is an int and finite where it is a float, told by its size
// alone: false for a few that are.
[[gnu::always_inline]] inline bool surely_counts(Value value) {
  constexpr std::uint64_t kLimit = std::bit_cast<std::uint64_t>(static_cast<double>(kExact)) << 1U;
  return (std::bit_cast<std::uint64_t>(value[0]) << 1U) - 1U < kLimit - 1U;
}

// The same in full. An int has no negative zero.
[[gnu::noinline]] bool settle(Value& value) {
  if (is_float(value)) return std::isfinite(value[0]);
  if (value[0] == 0.0) value[0] = 0.0;
  return std::fabs(value[0]) < static_cast<double>(kExact);
}

Flaw flaw_of(const Operation& op, Value left, Value right) {
  if (!op.divides || right[0] != 0.0) return Flaw::kOther;
  return is_float(left) || is_float(right) ? Flaw::kFloatDivision : Flaw::kDivision;
}

// Takes an operand in. What + does and what * does are both computed: which one counts is as good
// as random.
[[gnu::always_inline]] inline void apply(Level& level, const Operation& op, Value operand,
                                         Flaw& flaw) {
  Value grown = level.term * operand;
  if (op.divides) [[unlikely]]  // to wait for a quotient each time costs more than a wrong guess
    grown = level.term / operand;
  Value result = select(op.adds, level.joined(), grown);
  if (!surely_counts(result)) [[unlikely]]
    if (!settle(result) && flaw == Flaw::kNone) flaw = flaw_of(op, level.term, operand);
  level.sum = select(op.adds, result, level.sum);
  level.term = select(op.adds, operand, result);
  level.sign = op.sign | (level.sign & ~op.adds);
}

class Plain {
 public:
  // Eight characters before `end` can be read: the text is read where it stands, since a copy
  // would be read before it is written out, which stalls.
  Plain(const char* begin, const char* end) : begin_(begin), end_(end) { look_from(begin); }

  // Whether the whole text is an expression: then the others say what it comes to.
  bool run() { return sum(after_blanks(begin_), 0, result_) == end_; }

  Value result() const { return result_; }
  Flaw flaw() const { return flaw_; }
  bool is_shallow() const { return operators_ <= kMaxDepth; }  // no tree is deeper
  bool is_deep() const { return is_deep_; }

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
    int sums = 0;
    while (at != end_ && is_operator(*at)) {
      const Operation& op = operation_of(*at);
      Value right;
      ++at;
      at = operand(at != end_ && *at == ' ' ? at + 1 : at, brackets, right);
      if (at == nullptr) return nullptr;
      apply(level, op, right, flaw_);
      sums += op.is_sum;
      ++operators_;
    }
    result = level.joined();
    if (!surely_counts(result)) [[unlikely]]
      if (!settle(result) && flaw_ == Flaw::kNone) flaw_ = Flaw::kOther;
    is_deep_ |= sums > kMaxDepth;  // the first term is as deep
    return at;
  }

  // Most operands are short numbers: those are read right here, and nothing is put in memory.
  [[gnu::always_inline]] const char* operand(const char* at, int brackets, Value& value) {
    if (const char* const next = short_number(at, value)) [[likely]]
      return after_blanks(next);
    Value other;  // apart, so that the operand itself stays in a register
    at = other_operand(at, brackets, other);
    if (at == nullptr) return nullptr;
    value = other;
    return after_blanks(at);
  }

  // Signs, brackets and every other number.
  const char* other_operand(const char* at, int brackets, Value& value) {
    bool negative = false;
    for (; peek(at) == '+' || peek(at) == '-'; ++operators_) {
      negative ^= *at == '-';
      at = after_blanks(at + 1);
    }
    if (peek(at) == '(') {
      if (brackets >= kMaxDepth) return nullptr;
      at = sum(after_blanks(at + 1), brackets + 1, value);
      if (at == nullptr || peek(at) != ')') return nullptr;
      ++at;
    } else {
      if (at - window_ > kWindow - kWord) look_from(at);
      const char* const next = short_number(at, value);
      at = next != nullptr ? next : any_number(at, value);
    }
    // 0 has no sign where it is an int.
    if (negative) value[0] = is_float(value) ? -value[0] : 0.0 - value[0];
    return at;
  }

  // Finds the numbers in the next 64 characters, so that one of them need not be read before the
  // next one is found.
  void look_from(const char* from) {
    window_ = from;
    const std::ptrdiff_t size = std::min(end_ - from, kWindow);
    if (size < kBlock) {
      const std::uint64_t high = size > kWord ? word_at(from + kWord) : 0;
      const std::uint64_t low = size > 0 ? word_at(from) : 0;
      numbers_ = number_bits(
          _mm_set_epi64x(static_cast<std::int64_t>(high), static_cast<std::int64_t>(low)));
      return;
    }
    numbers_ = number_bits_at(from);
    for (std::ptrdiff_t at = kBlock; at + kBlock < size; at += kBlock)
      numbers_ |= number_bits_at(from + at) << static_cast<unsigned>(at);
    numbers_ |= number_bits_at(from + size - kBlock) << static_cast<unsigned>(size - kBlock);
  }

  // Eight characters, with zeros after the end; not at the end.
  std::uint64_t word_at(const char* at) const {
    const char* const from = std::min(at, end_ - kWord);
    return load(from) >> (8U * static_cast<unsigned>(at - from));
  }

  // A number of up to seven characters, with or without a point, in one word: the point is taken
  // out of the digits by shifting. Null where there is none. What follows it is the caller's.
  [[gnu::always_inline]] const char* short_number(const char* at, Value& value) const {
    const std::ptrdiff_t place = at - window_;
    if (place > kWindow - kWord) return nullptr;
    const auto length = static_cast<unsigned>(std::countr_zero(~(numbers_ >> place)));
    if (length - 1U >= 7U) return nullptr;
    const std::uint64_t word = word_at(at);
    const std::uint64_t ends = std::uint64_t{0x80} << (8U * length);
    const std::uint64_t points = other_bytes(word) & (ends - 1);
    const unsigned whole = first_byte(points | ends);
    if ((points & (points - 1)) != 0 || whole == 0) return nullptr;
    if (whole > 1 && (word & 0xFFU) == '0') return nullptr;
    // No branch on the point: whether a number has one is as good as random. Hence the sign bit: a
    // comparison would become one.
    const unsigned point = (whole - length) >> 31U;
    const std::uint64_t has_point = 0U - std::uint64_t{point};
    const std::uint64_t before = (std::uint64_t{1} << (8U * whole)) - 1;
    const std::uint64_t spliced = (word & before) | ((word >> 8U) & ~before);
    const std::uint64_t digits = word ^ ((word ^ spliced) & has_point);
    const unsigned count = length - point;
    const auto number = static_cast<double>(static_cast<std::int64_t>(digits_value(digits, count)));
    const Tenth& tenth = kTenths[count - whole];
    value = Value{number * tenth.high + number * tenth.low, kKinds[point]};
    return at + length;
  }

  // Decimal digits without underscores or leading zeros; an int stays below 2^53.
  const char* any_number(const char* at, Value& value) const {
    const char* const begin = at;
    std::uint64_t digits = 0;
    for (; is_digit(peek(at)); ++at) digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
    std::ptrdiff_t count = at - begin;
    if (count > 1 && *begin == '0') return nullptr;
    const bool has_point = peek(at) == '.';
    std::ptrdiff_t decimals = 0;
    if (has_point) {
      const char* const fraction = ++at;
      for (; is_digit(peek(at)); ++at) digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
      decimals = at - fraction;
      count += decimals;
    }
    if (count == 0) return nullptr;
    value = Value{0.0, kKinds[has_point ? 1 : 0]};
    // Exact digits and an exact power of ten give the nearest float in one operation.
    if (count <= 18 && digits < static_cast<std::uint64_t>(kExact)) {
      value[0] = static_cast<double>(static_cast<std::int64_t>(digits)) /
                 kTens[static_cast<std::size_t>(decimals)];
      return at;
    }
    double real = 0.0;
    if (!has_point || std::from_chars(begin, at, real).ec != std::errc{}) return nullptr;
    value[0] = real;
    return at;
  }

  const char* begin_;
  const char* end_;
  const char* window_ = nullptr;
  std::uint64_t numbers_ = 0;  // from the window on, a bit for each character that is in a number
  Value result_{};
  Flaw flaw_ = Flaw::kNone;
  bool is_deep_ = false;
  int operators_ = 0;
};

PlainVerdict refusal_of(const Plain& plain, char* out) {
  if (plain.is_deep())
    return {plain.flaw() == Flaw::kNone ? PlainVerdict::kTooDeep : PlainVerdict::kUnknown, out};
  if (!plain.is_shallow()) return {PlainVerdict::kUnknown, out};
  if (plain.flaw() == Flaw::kDivision) return {PlainVerdict::kDivision, out};
  if (plain.flaw() == Flaw::kFloatDivision) return {PlainVerdict::kFloatDivision, out};
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
  if (plain.flaw() != Flaw::kNone || !plain.is_shallow()) [[unlikely]]
    return refusal_of(plain, out);
  return {
      PlainVerdict::kValue,
      write_number(plain.result()[0], is_float(plain.result()) ? Kind::kFloat : Kind::kInt, out)};
}

}  // namespace runner::arithmetic
