// repr() of numbers: float_repr_style "short".
#include <emmintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "runner/arithmetic/number.h"

namespace runner::arithmetic {
namespace {

char* write(std::string_view text, char* out) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

// The halves of eight digits, side by side.
constexpr std::uint64_t fours(std::uint64_t value) {
  return value / 10'000 | (value % 10'000) << 32U;
}

// Eight digits, leading zeros and all, as bytes 0 to 9, the first one lowest: split into halves,
// quarters and eighths side by side.
std::uint64_t eight_digits(std::uint64_t value) {
  const std::uint64_t four = fours(value);
  const std::uint64_t tops = ((four * 10486U) >> 20U) & 0x0000007F0000007FU;  // / 100
  const std::uint64_t twos = tops | (four - tops * 100U) << 16U;
  const std::uint64_t tens = ((twos * 103U) >> 10U) & 0x000F000F000F000FU;  // / 10
  return tens | (twos - tens * 10U) << 8U;
}

// Sixteen digits of a number, leading zeros and all: as above, with both halves in one register.
void store_sixteen(std::uint64_t value, char* out) {
  constexpr std::uint64_t kHalf = 100'000'000;
  const __m128i four = _mm_set_epi64x(static_cast<std::int64_t>(fours(value % kHalf)),
                                      static_cast<std::int64_t>(fours(value / kHalf)));
  const __m128i tops = _mm_srli_epi32(_mm_mulhi_epu16(four, _mm_set1_epi32(5243)), 3);  // / 100
  const __m128i rests = _mm_sub_epi32(four, _mm_mullo_epi16(tops, _mm_set1_epi32(100)));
  const __m128i two = _mm_or_si128(tops, _mm_slli_epi32(rests, 16));
  const __m128i tens = _mm_mulhi_epu16(two, _mm_set1_epi16(6554));  // / 10
  const __m128i ones = _mm_sub_epi16(two, _mm_mullo_epi16(tens, _mm_set1_epi16(10)));
  const __m128i digits = _mm_or_si128(tens, _mm_slli_epi16(ones, 8));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_or_si128(digits, _mm_set1_epi8('0')));
}

constexpr std::uint64_t kEight = 100'000'000;
constexpr std::uint64_t kAscii = 0x3030303030303030U;

char* store(std::uint64_t text, char* out) {
  std::memcpy(out, &text, sizeof text);
  return out + sizeof text;
}

// A whole number without leading zeros. May write up to eight bytes past the end it returns.
char* write_whole(std::uint64_t value, char* out) {
  if (value >= kEight) return std::to_chars(out, out + 20, value).ptr;
  const std::uint64_t digits = eight_digits(value);
  const unsigned zeros =
      static_cast<unsigned>(std::countr_zero(digits | std::uint64_t{1} << 56U)) / 8U;
  store((digits | kAscii) >> (8U * zeros), out);
  return out + (8U - zeros);
}

__extension__ using Wide = unsigned __int128;

constexpr int kFraction = 52;  // bits of a float's mantissa that are stored

int exponent_of(double magnitude) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> kFraction) - 1023;
}

std::uint64_t mantissa_of(double magnitude) {
  constexpr std::uint64_t kTop = std::uint64_t{1} << kFraction;
  return (std::bit_cast<std::uint64_t>(magnitude) & (kTop - 1)) | kTop;
}

// A power of ten, and how to divide by it: with its inverse, rounded up, times 2^(63 + shift).
struct Unit {
  std::uint64_t value;
  std::uint64_t inverse;
  unsigned shift;

  // Exact for a dividend below 2^60.
  std::uint64_t divide(std::uint64_t dividend) const {
    return static_cast<std::uint64_t>((Wide{dividend << 1U} * inverse) >> 64U) >> shift;
  }
};

constexpr std::array<Unit, 18> make_units() {
  std::array<Unit, 18> units{};
  std::uint64_t value = 1;
  for (Unit& unit : units) {
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1U;
    unit = {value, static_cast<std::uint64_t>(((Wide{1} << (63U + shift)) + value - 1) / value),
            shift};
    value *= 10;
  }
  return units;
}
constexpr std::array<Unit, 18> kUnits = make_units();

// Digits / 10^4, without zeros at the end but for one decimal; without the decimals for an int.
char* write_four_decimals(std::uint64_t digits, Kind kind, char* out) {
  if (digits < kEight) {  // all in one conversion
    const std::uint64_t both = eight_digits(digits);
    const unsigned zeros =
        static_cast<unsigned>(std::countr_zero(both | std::uint64_t{1} << 24U)) / 8U;
    store(((both | kAscii) & 0xFFFFFFFFU) >> (8U * zeros), out);
    out += 4U - zeros;
    *out = '.';
    store((both | kAscii) >> 32U, out + 1);
    return out + (kind == Kind::kFloat ? 5 - std::min(3, std::countl_zero(both) / 8) : 0);
  }
  char* const end = write_whole(digits / 10'000, out);
  *end = '.';
  const std::uint64_t fraction = eight_digits(digits % 10'000) >> 32U;
  store(fraction | kAscii, end + 1);
  const int zeros = (std::countl_zero(fraction) - 32) / 8;
  const int decimals = std::max(1, 4 - zeros);
  return end + (kind == Kind::kFloat ? 1 + decimals : 0);
}

// A decimal: digits / ten to the `scale`.
struct Scaled {
  std::uint64_t digits;
  int scale;
};

// With a point and `scale` decimals, 1 to 16 of them. Nothing written is read again: that stalls.
char* write_scaled(const Scaled& decimal, char* out) {
  const Unit& unit = kUnits[static_cast<std::size_t>(decimal.scale)];
  const std::uint64_t whole = unit.divide(decimal.digits);
  const std::uint64_t rest = decimal.digits - whole * unit.value;
  const std::uint64_t fraction = rest * kUnits[static_cast<std::size_t>(16 - decimal.scale)].value;
  out = write_whole(whole, out);
  *out++ = '.';
  store_sixteen(fraction, out);
  return out + decimal.scale;
}

// The shortest decimal of a float: 0.d1d2...dn times ten to the `point`.
struct Decimal {
  std::array<char, 32> digits{};  // at most 20 count; the others let blocks be copied
  std::size_t count = 0;
  int point = 0;
};

// How floats of one exponent become whole numbers of 16 or 17 digits: times ten to the `tens`, so
// that floats are one to ten apart. The mantissa, eleven bits up, times `factor` is that with 64
// bits behind the binary point, exactly.
struct Scale {
  std::uint64_t factor;
  int tens;
};

constexpr int kLeastExponent = -24;
constexpr int kMostExponent = 42;

constexpr auto make_scales() {
  std::array<Scale, kMostExponent - kLeastExponent + 1> scales{};
  for (int exponent = kLeastExponent; exponent <= kMostExponent; ++exponent) {
    Wide fives = 1;
    int tens = 0;
    for (; 1 + exponent + tens < 0 ||
           fives << static_cast<unsigned>(1 + exponent + tens) < Wide{1} << 53U;
         ++tens)
      fives *= 5;
    scales[static_cast<std::size_t>(exponent - kLeastExponent)] = {
        static_cast<std::uint64_t>(fives << static_cast<unsigned>(1 + exponent + tens)), tens};
  }
  return scales;
}
constexpr auto kScales = make_scales();

constexpr std::uint64_t above(Wide fixed) { return static_cast<std::uint64_t>(fixed >> 64U); }
constexpr std::uint64_t below(Wide fixed) { return static_cast<std::uint64_t>(fixed); }

// The multiple of the largest power of ten that has one between two bounds, next to `exact`. False
// for a tie.
[[gnu::noinline]] bool shorten(std::uint64_t low, std::uint64_t high, Wide exact, Scaled& out) {
  std::uint64_t unit = 1;
  for (; (low + 9) / 10 <= high / 10; --out.scale) {
    low = (low + 9) / 10;
    high /= 10;
    unit *= 10;
  }
  const std::uint64_t down = above(exact) / unit;
  const std::uint64_t below_it = down * unit;
  const Wide rest = exact - (Wide{below_it} << 64U);
  const Wide half = Wide{unit} << 63U;
  out.digits = down + (rest > half ? 1U : 0U);
  return rest != half;
}

// The shortest digits of a float between 10^-7 and 10^12, in exact fixed point. What lies within
// half a last place of the float reads back as it; neither bound is ever a whole number, since it
// has one bit more than the float. False where it does not apply.
bool middle(double magnitude, Scaled& out) {
  const int exponent = exponent_of(magnitude);
  if (exponent < kLeastExponent || exponent > kMostExponent) return false;
  const Scale& scale = kScales[static_cast<std::size_t>(exponent - kLeastExponent)];
  const std::uint64_t mantissa = mantissa_of(magnitude);
  if (mantissa == std::uint64_t{1} << kFraction) return false;  // half as far from the one below
  const Wide exact = Wide{mantissa << 11U} * scale.factor;
  const Wide half = Wide{scale.factor} << 10U;
  const std::uint64_t low = above(exact - half) + 1;
  const std::uint64_t high = above(exact + half);
  out.scale = scale.tens;
  // Few floats lose two digits, or lie halfway between two.
  if ((low + 99) / 100 <= high / 100 || below(exact) << 1U == 0) [[unlikely]]
    return shorten(low, high, exact, out);
  // Whether one digit goes is as good as random: there is no branch on it.
  const std::uint64_t one = 0U - static_cast<std::uint64_t>((low + 9) / 10 <= high / 10);
  const std::uint64_t shorter = (above(exact) + 5) / 10;
  const std::uint64_t longer = above(exact) + (below(exact) >> 63U);
  out.digits = longer ^ ((longer ^ shorter) & one);
  out.scale += static_cast<int>(one);
  return true;
}

// Money and measures have up to four decimals: whether the float is the one that these digits,
// fifteen at most, read as. No other fifteen digits do, so they are the shortest.
bool four_decimals(double magnitude, std::uint64_t& digits) {
  constexpr double kTenThousand = 1e4;
  constexpr double kHalf = 0.5;
  if (!(magnitude < 1e11)) return false;
  const double scaled = magnitude * kTenThousand;
  const auto whole = static_cast<std::int64_t>(scaled + kHalf);
  digits = static_cast<std::uint64_t>(whole);
  const auto exact = static_cast<double>(whole);
  // Which it will be is hard to foretell: what is not even near is told before the division is
  // done.
  if (std::fabs(scaled - exact) > scaled * 0x1p-51) return false;
  return exact / kTenThousand == magnitude;
}

void spread(const Scaled& scaled, Decimal& out) {
  char* const begin = out.digits.data();
  out.count = static_cast<std::size_t>(std::to_chars(begin, begin + 20, scaled.digits).ptr - begin);
  out.point = static_cast<int>(out.count) - scaled.scale;
}

void shortest(double magnitude, Decimal& out) {
  std::array<char, 32> text;
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), magnitude,
                                        std::chars_format::scientific)
                              .ptr;
  const char* mark = text.data() + 1;
  out.digits[out.count++] = text[0];
  if (*mark == '.')
    for (++mark; *mark != 'e'; ++mark) out.digits[out.count++] = *mark;
  int exponent = 0;
  std::from_chars(mark + 2, end, exponent);
  out.point = (mark[1] == '-' ? -exponent : exponent) + 1;
}

char* write_exponent(const Decimal& decimal, char* out) {
  *out++ = decimal.digits[0];
  if (decimal.count > 1) {
    *out++ = '.';
    out = write({decimal.digits.data() + 1, decimal.count - 1}, out);
  }
  const int exponent = decimal.point - 1;
  out = write(exponent < 0 ? "e-" : "e+", out);
  const int size = std::abs(exponent);
  if (size < 10) *out++ = '0';
  return std::to_chars(out, out + 4, size).ptr;
}

char* write_decimal(const Decimal& decimal, char* out) {
  const std::string_view digits(decimal.digits.data(), decimal.count);
  static constexpr std::string_view kZeros = "0000000000000000";
  if (decimal.point <= -4 || decimal.point > 16) return write_exponent(decimal, out);
  if (decimal.point <= 0) {
    out = write("0.", out);
    out = write(kZeros.substr(0, static_cast<std::size_t>(-decimal.point)), out);
    return write(digits, out);
  }
  const auto point = static_cast<std::size_t>(decimal.point);
  if (point >= digits.size()) {
    out = write(digits, out);
    out = write(kZeros.substr(0, point - digits.size()), out);
    return write(".0", out);
  }
  static constexpr std::size_t kBlock = 16;  // as many as stand on either side, or more
  std::memcpy(out, digits.data(), kBlock);
  out[point] = '.';
  std::memcpy(out + point + 1, digits.data() + point, kBlock);
  return out + digits.size() + 1;
}

// What has an exponent, no decimals or seventeen of them, and what is no number.
[[gnu::noinline]] char* write_other(double magnitude, const Scaled* scaled, char* out) {
  if (std::isnan(magnitude)) return write("nan", out);
  if (std::isinf(magnitude)) return write("inf", out);
  Decimal decimal;
  if (scaled != nullptr)
    spread(*scaled, decimal);
  else
    shortest(magnitude, decimal);
  return write_decimal(decimal, out);
}

}  // namespace

char* write_repr(double value, char* out) { return write_number(value, Kind::kFloat, out); }

char* write_number(double value, Kind kind, char* out) {
  *out = '-';
  out += std::signbit(value) && !std::isnan(value) ? 1 : 0;
  const double magnitude = std::fabs(value);
  if (std::uint64_t digits = 0; four_decimals(magnitude, digits))
    return write_four_decimals(digits, kind, out);
  if (kind == Kind::kInt)
    return std::to_chars(out, out + 20, static_cast<std::int64_t>(magnitude)).ptr;
  Scaled scaled{};
  const bool found = middle(magnitude, scaled);
  if (found && scaled.scale >= 1 && scaled.scale <= 16 && magnitude >= 1e-4) [[likely]]
    return write_scaled(scaled, out);
  return write_other(magnitude, found ? &scaled : nullptr, out);
}

void append_repr(double value, std::string& out) {
  std::array<char, kMaxFloatRepr> text;
  out.append(text.data(), write_repr(value, text.data()));
}

void append_repr(const Number& number, std::string& out) {
  if (const auto* real = std::get_if<double>(&number)) {
    append_repr(*real, out);
  } else if (const auto* small = std::get_if<std::int64_t>(&number)) {
    std::array<char, 24> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), *small);
    out.append(text.data(), end.ptr);
  } else {
    out += std::get<BigInt>(number).str();
  }
}

}  // namespace runner::arithmetic
