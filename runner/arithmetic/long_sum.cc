// A machine of eight states reads a character with one shift: all that a character does is in one
// word, where each state finds its successor at its own place. So no branch depends on the text.
#include "runner/arithmetic/long_sum.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "runner/arithmetic/arithmetic.h"

namespace runner::arithmetic {
namespace {

// Each state is its place in a word.
constexpr unsigned kPlaceBits = 6;
enum State : std::uint8_t {
  kWrong,                     // for good
  kOperand = 1 * kPlaceBits,  // one has to come
  kAdded = 2 * kPlaceBits,    // the same, right after a + or - between operands
  kZero = 3 * kPlaceBits,     // a first 0, which no digit may follow
  kWhole = 4 * kPlaceBits,
  kPoint = 5 * kPlaceBits,  // without a digit so far
  kFraction = 6 * kPlaceBits,
  kBlank = 7 * kPlaceBits,  // after a number
};
constexpr std::uint64_t kPlace = (1U << kPlaceBits) - 1;

constexpr bool ends_number(std::uint64_t state) {
  return state == kZero || state == kWhole || state == kFraction || state == kBlank;
}

// What a character does: where an operand has to come, and where a number ends.
constexpr std::uint64_t steps(State at_operand, State at_end) {
  std::uint64_t word = 0;
  for (const State from : {kOperand, kAdded}) word |= std::uint64_t{at_operand} << from;
  for (const State from : {kZero, kWhole, kFraction, kBlank}) word |= std::uint64_t{at_end} << from;
  return word;
}

constexpr std::uint64_t digit_steps(State first) {
  std::uint64_t word = steps(first, kWrong) | std::uint64_t{kWhole} << kWhole;
  for (const State from : {kPoint, kFraction}) word |= std::uint64_t{kFraction} << from;
  return word;
}

constexpr std::array<std::uint64_t, 256> make_steps() {
  std::array<std::uint64_t, 256> all{};
  for (std::size_t c = '1'; c <= '9'; ++c) all[c] = digit_steps(kWhole);
  all['0'] = digit_steps(kZero);
  all['.'] = steps(kPoint, kWrong);
  for (const State from : {kZero, kWhole}) all['.'] |= std::uint64_t{kFraction} << from;
  all[' '] = steps(kOperand, kBlank);
  all['+'] = all['-'] = steps(kOperand, kAdded);
  all['*'] = all['/'] = steps(kWrong, kOperand);
  return all;
}
constexpr std::array<std::uint64_t, 256> kSteps = make_steps();

// The signs in a text of at most kMaxCodePoints characters. One byte holds their number, so that
// the processor counts sixteen characters at a time.
std::uint8_t count_signs(std::string_view text) {
  static_assert(kMaxCodePoints <= std::numeric_limits<std::uint8_t>::max());
  std::uint8_t signs = 0;
  for (const char c : text)
    signs = static_cast<std::uint8_t>(signs + ((c == '+' || c == '-') ? 1U : 0U));
  return signs;
}

}  // namespace

bool is_deep_sum(std::string_view text) {
  if (text.size() > kMaxCodePoints || count_signs(text) <= kMaxDepth) return false;
  std::uint64_t state = kOperand;
  int sums = 0;
  for (const char c : text) {
    state = kSteps[static_cast<unsigned char>(c)] >> (state & kPlace);
    sums += (state & kPlace) == kAdded ? 1 : 0;
  }
  return ends_number(state & kPlace) && sums > kMaxDepth;
}

}  // namespace runner::arithmetic
