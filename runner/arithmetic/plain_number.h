// A short number's characters to its value, without a branch on how many there are or where the
// point is. Only for fast_path.cc. Pure; any thread.
#pragma once

#include <emmintrin.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace runner::arithmetic::plain {

inline constexpr std::array<double, 23> kTens{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline std::uint64_t load(const char* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// A bit for each character of a text from some place on.
struct Bits {
  std::uint64_t digits;
  std::uint64_t points;
};

inline Bits look_at(__m128i text) {
  const auto bits = [](__m128i found) { return static_cast<unsigned>(_mm_movemask_epi8(found)); };
  const __m128i digits = _mm_sub_epi8(text, _mm_set1_epi8('0'));
  return {bits(_mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits)),
          bits(_mm_cmpeq_epi8(text, _mm_set1_epi8('.')))};
}

inline Bits look_at_block(const char* from) {
  return look_at(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

// Eight characters from either place.
inline Bits look_at_words(const char* first, const char* second) {
  return look_at(_mm_set_epi64x(static_cast<std::int64_t>(load(second)),
                                static_cast<std::int64_t>(load(first))));
}

// A number and, beside it, what kind it is: 0 for an int, NaN for a float. The processor computes
// both at once, and every rule holds by itself: a float with anything is a float, and 0 / 0 is NaN.
using Value = double __attribute__((vector_size(16)));
using Mask = std::int64_t __attribute__((vector_size(16)));  // all ones or all zeros

// The value where the mask is, and what else there is where it isn't.
[[gnu::always_inline]] inline Value kept(Mask mask, Value value, Value otherwise) {
  return std::bit_cast<Value>((std::bit_cast<Mask>(value) & mask) | std::bit_cast<Mask>(otherwise));
}

inline constexpr double kFloat = std::numeric_limits<double>::quiet_NaN();
inline bool is_float(Value value) { return std::isnan(value[1]); }

using Weights = std::array<std::int16_t, 8>;

// How to read a number of so many characters with so many before its point: what each character
// counts, and what the whole is divided by.
struct alignas(64) Shape {
  Weights ones;           // of the last four digits
  Weights ten_thousands;  // of those before
  // A power of ten's inverse as a sum: with 29 bits, times seven digits it is exact, and what is
  // left is so small that its own rounding can't reach the sum's. So digits * high + digits * low
  // is the float nearest to digits / the power, and comes sooner than by a division.
  Value high;
  Value low;
};

constexpr Shape make_shape(std::size_t length, std::size_t whole) {
  Shape shape{{}, {}, Value{1.0, 0.0}, Value{0.0, 0.0}};
  if (whole < length) {
    constexpr std::uint64_t kTop = ~std::uint64_t{0} << 24U;
    const double ten = kTens[length - whole - 1];
    const double high = std::bit_cast<double>(std::bit_cast<std::uint64_t>(1 / ten) & kTop);
    shape.high = Value{high, kFloat};
    shape.low = Value{(1 - high * ten) / ten, 0.0};
  }
  std::size_t place = 0;
  for (std::size_t i = length; i-- > 0;) {
    if (i == whole) continue;  // the point
    (place < 4 ? shape.ones : shape.ten_thousands)[i] = static_cast<std::int16_t>(kTens[place % 4]);
    ++place;
  }
  return shape;
}

inline constexpr std::size_t kLongest = 7;  // of the numbers that are read in one word
constexpr auto make_shapes() {
  std::array<Shape, (kLongest + 1) * 8> shapes{};
  for (std::size_t length = 1; length <= kLongest; ++length)
    for (std::size_t whole = 1; whole <= length; ++whole)
      shapes[length * 8 + whole] = make_shape(length, whole);
  return shapes;
}
inline constexpr auto kShapes = make_shapes();

// The number whose first characters are in the word.
[[gnu::always_inline]] inline Value number_of(std::uint64_t word, const Shape& shape) {
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<std::int64_t>(word ^ 0x3030303030303030U));
  const __m128i digits = _mm_unpacklo_epi8(bytes, _mm_setzero_si128());
  const auto weighed = [&digits](const Weights& weights) {
    return _mm_madd_epi16(digits, *reinterpret_cast<const __m128i*>(weights.data()));
  };
  const __m128i parts = _mm_packs_epi32(weighed(shape.ones), weighed(shape.ten_thousands));
  __m128i sums = _mm_madd_epi16(parts, _mm_set_epi16(10000, 10000, 10000, 10000, 1, 1, 1, 1));
  sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, _MM_SHUFFLE(1, 0, 3, 2)));
  sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, _MM_SHUFFLE(2, 3, 0, 1)));
  const auto number = std::bit_cast<Value>(_mm_cvtepi32_pd(sums));  // in both halves
  return number * shape.high + number * shape.low;
}

}  // namespace runner::arithmetic::plain
