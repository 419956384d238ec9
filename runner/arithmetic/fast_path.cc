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

#include "runner/arithmetic/arithmetic.h"
#include "runner/arithmetic/long_sum.h"
#include "runner/arithmetic/number.h"
#include "runner/arithmetic/plain_number.h"

namespace runner::arithmetic {
namespace {

using plain::Bits;
using plain::is_float;
using plain::kept;
using plain::kFloat;
using plain::kLongest;
using plain::kShapes;
using plain::kTens;
using plain::load;
using plain::look_at_block;
using plain::look_at_words;
using plain::Mask;
using plain::number_of;
using plain::Value;

static_assert(std::endian::native == std::endian::little);

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::int64_t kExact = std::int64_t{1} << 53;
constexpr std::ptrdiff_t kWord = sizeof(std::uint64_t);
constexpr std::ptrdiff_t kBlock = 16;
constexpr std::ptrdiff_t kWindow = 64;
constexpr std::size_t kLeastDeep = 2 * kMaxDepth + 3;  // no shorter sum is too deep

// At most seven characters, at least one, as the last ones of a word.
std::uint64_t load_short(std::string_view text) {
  const auto load_half = [](const char* from) {
    std::uint32_t half = 0;
    std::memcpy(&half, from, sizeof half);
    return std::uint64_t{half};
  };
  const auto size = static_cast<unsigned>(text.size());
  if (size >= 4)  // two halves that may overlap
    return load_half(text.data()) << (64U - 8U * size) | load_half(text.data() + size - 4) << 32U;
  const auto byte = [&text](unsigned at) {
    return std::uint64_t{static_cast<unsigned char>(text[at])};
  };
  return byte(0) << (64U - 8U * size) | byte(size / 2) << (64U - 8U * (size - size / 2)) |
         byte(size - 1) << 56U;
}

// What is known within a pair of brackets: a sum, and a term that may still grow before it joins.
// What - takes away is added with the other sign.
struct Level {
  Value sum{-0.0, 0.0};  // -0.0 + x is x
  Value term;

  Value joined() const { return sum + term; }
};

// An operator as a step of both: the sum takes in the term or -0.0, and the operand is multiplied
// with 1, -1 or the term. Which it is, is as good as random: hence no branch.
struct alignas(64) Operation {
  Mask adds;   // + and -
  Value zero;  // what the sum takes in where it doesn't add
  Value one;   // what the operand is multiplied with where it isn't the term
  char character;
  bool divides;
  std::uint32_t tally;  // one operator, and in the upper half one sum
};
constexpr Mask kNo{0, 0};
constexpr Mask kYes{-1, -1};
constexpr Value kNothing{0.0, 0.0};
constexpr std::uint32_t kOneSum = 1U << 16U;
constexpr Operation kUnused{kNo, kNothing, kNothing, '\xFF', false, 0};
constexpr Operation kTimes{kNo, Value{-0.0, 0.0}, kNothing, '*', false, 1};
constexpr Operation kOver{kNo, Value{-0.0, 0.0}, kNothing, '/', true, 1};
constexpr Operation kAnd{kYes, kNothing, Value{1.0, 0.0}, '+', false, 1 + kOneSum};
constexpr Operation kLess{kYes, kNothing, Value{-1.0, 0.0}, '-', false, 1 + kOneSum};
// By the last three bits of * + - /. No character is where 0xFF is.
constexpr std::array<Operation, 8> kOperations{kUnused, kUnused, kTimes,  kAnd,
                                               kUnused, kLess,   kUnused, kOver};
constexpr const Operation& operation_of(char c) {
  return kOperations[static_cast<unsigned char>(c) & 7U];
}

// Why a text has no value that counts.
enum class Flaw : std::uint8_t { kNone, kDivision, kFloatDivision, kOther };

// Terms are bounded so that a text's sums are exact where they are ints, and finite.
constexpr double kMostInt = 0x1p46;
constexpr double kMostFloat = 0x1p1000;
static_assert(kMostInt * kMaxCodePoints / 2 <= static_cast<double>(kExact));

// Whether a term is in bounds and not zero, told by its size alone: false for a few that are.
[[gnu::always_inline]] inline bool surely_counts(Value value) {
  constexpr std::uint64_t kLimit = std::bit_cast<std::uint64_t>(kMostInt) << 1U;
  return (std::bit_cast<std::uint64_t>(value[0]) << 1U) - 1U < kLimit - 1U;
}

bool in_bounds(Value value) {
  return std::fabs(value[0]) < (is_float(value) ? kMostFloat : kMostInt);
}

// What may be wrong with a term, and nearly never is. `sum` is what it joins.
[[gnu::noinline]] Value examined(Value term, const Operation& op, Value sum, Flaw& flaw) {
  Flaw found = in_bounds(term) ? Flaw::kNone : Flaw::kOther;
  if (term[0] == 0.0 && !is_float(term) && op.adds[0] == 0) {
    // 0 has no sign, but a product has, and takes another one with -. Beside a float 0 it matters.
    term = kNothing;
    if (is_float(sum) && sum[0] == 0.0) found = Flaw::kOther;
  }
  if (flaw == Flaw::kNone) flaw = found;
  return term;
}

[[gnu::noinline]] Value quotient(Value left, Value right, Flaw& flaw) {
  if (right[0] == 0.0 && flaw == Flaw::kNone)
    flaw = is_float(left) || is_float(right) ? Flaw::kFloatDivision : Flaw::kDivision;
  return left / right;
}

[[gnu::always_inline]] inline void apply(Level& level, const Operation& op, Value operand,
                                         Flaw& flaw) {
  Value term = kept(~op.adds, level.term, op.one) * operand;
  if (op.divides) [[unlikely]]  // to wait for a quotient each time costs more than a wrong guess
    term = quotient(level.term, operand, flaw);
  level.sum += kept(op.adds, level.term, op.zero);
  if (!surely_counts(term)) [[unlikely]]
    term = examined(term, op, level.sum, flaw);
  level.term = term;
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
    std::uint32_t tally = 0;
    while (at != end_) {
      const Operation& op = operation_of(*at);
      if (op.character != *at) break;
      Value right;
      ++at;
      at = operand(at != end_ && *at == ' ' ? at + 1 : at, brackets, right);
      if (at == nullptr) return nullptr;
      apply(level, op, right, flaw_);
      tally += op.tally;
    }
    result = level.joined();
    operators_ += static_cast<int>(tally % kOneSum);
    is_deep_ |= tally / kOneSum > kMaxDepth;  // the first term is as deep
    return at;
  }

  // Most operands are short numbers: those are read right here, and nothing is put in memory.
  [[gnu::always_inline]] const char* operand(const char* at, int brackets, Value& value) {
    if (const char* const next = short_number(at, value)) [[likely]]
      return after_blanks(next);
    Value other;  // apart, so that the operand itself stays in a register
    at = other_operand(at, brackets, other);
    if (at == nullptr) return nullptr;
    if (!in_bounds(other) && flaw_ == Flaw::kNone) flaw_ = Flaw::kOther;
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

  // Finds the digits and points in the next 64 characters, so that one number need not be read
  // before the next one is found.
  void look_from(const char* from) {
    from = std::min(from, end_ - kWord);
    window_ = from;
    const std::ptrdiff_t size = std::min(end_ - from, kWindow);
    Bits found{};
    const auto add = [&found](Bits bits, std::ptrdiff_t at) {
      found.digits |= bits.digits << static_cast<unsigned>(at);
      found.points |= bits.points << static_cast<unsigned>(at);
    };
    if (size <= kBlock) {
      const Bits bits = look_at_words(from, from + size - kWord);
      constexpr std::uint64_t kFirst = 0xFF;
      add({bits.digits & kFirst, bits.points & kFirst}, 0);
      add({bits.digits >> 8U, bits.points >> 8U}, size - kWord);
    } else {
      for (std::ptrdiff_t at = 0; at + kBlock < size; at += kBlock)
        add(look_at_block(from + at), at);
      add(look_at_block(from + size - kBlock), size - kBlock);
    }
    stops_ = ~found.digits;
    points_ = found.points;
  }

  // Eight characters, with zeros after the end; not at the end.
  std::uint64_t word_at(const char* at) const {
    const char* const from = std::min(at, end_ - kWord);
    return load(from) >> (8U * static_cast<unsigned>(at - from));
  }

  // A number of up to seven characters, with or without a point: each character has its weight, the
  // point has none. Null where there is none. What follows it is the caller's, a second point too.
  // No branch on the length or the point: what they are is as good as random.
  [[gnu::always_inline]] const char* short_number(const char* at, Value& value) const {
    const std::ptrdiff_t place = at - window_;
    if (place > kWindow - kWord) return nullptr;
    const std::uint64_t stops = (stops_ >> place) | std::uint64_t{1} << (kLongest + 1);
    const std::uint64_t point = stops & (0U - stops) & (points_ >> place);  // where it stops first
    const auto whole = static_cast<std::size_t>(std::countr_zero(stops));
    const auto length = static_cast<std::size_t>(std::countr_zero(stops ^ point));
    if (length - 1 >= kLongest) return nullptr;
    if (*at <= '0' && whole != 1) return nullptr;  // no digit first, or a 0 too many
    value = number_of(word_at(at), kShapes[length * 8 + whole]);
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
    value = Value{0.0, has_point ? kFloat : 0.0};
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
  std::uint64_t stops_ = 0;  // from the window on, a bit for each character that is no digit
  std::uint64_t points_ = 0;
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
  const auto may_be_plain = [](char c) { return c >= '(' && c <= '9'; };
  if (text.empty() || text.size() > kMaxCodePoints || !may_be_plain(text.front()) ||
      !may_be_plain(text.back()))
    return {PlainVerdict::kUnknown, out};
  if (text.size() >= kLeastDeep && is_deep_sum(text)) return {PlainVerdict::kTooDeep, out};
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
