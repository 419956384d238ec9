// repr() of numbers: float_repr_style "short".
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

// Eight digits, leading zeros and all, as bytes 0 to 9, the first one lowest: split into halves,
// quarters and eighths side by side.
std::uint64_t eight_digits(std::uint64_t value) {
  const std::uint64_t fours = value / 10'000 | (value % 10'000) << 32U;
  const std::uint64_t tops = ((fours * 10486U) >> 20U) & 0x0000007F0000007FU;  // / 100
  const std::uint64_t twos = tops | (fours - tops * 100U) << 16U;
  const std::uint64_t tens = ((twos * 103U) >> 10U) & 0x000F000F000F000FU;  // / 10
  return tens | (twos - tens * 10U) << 8U;
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

// Digits / 10^4, without zeros at the end but for one decimal.
char* write_four_decimals(std::uint64_t digits, char* out) {
  char* const end = write_whole(digits / 10'000, out);
  *end = '.';
  const std::uint64_t fraction = eight_digits(digits % 10'000) >> 32U;
  store(fraction | kAscii, end + 1);
  const int zeros = (std::countl_zero(fraction) - 32) / 8;
  return end + 1 + std::max(1, 4 - zeros);
}

// A decimal: digits / ten to the `scale`. Only where the scale is 4 may the digits end in zeros.
struct Scaled {
  std::uint64_t digits;
  int scale;
};

constexpr std::array<std::uint64_t, 18> make_tens() {
  std::array<std::uint64_t, 18> tens{1};
  for (std::size_t i = 1; i < tens.size(); ++i) tens[i] = tens[i - 1] * 10;
  return tens;
}
constexpr std::array<std::uint64_t, 18> kTens = make_tens();

// With a point and `scale` decimals, 1 to 16 of them. Nothing written is read again: that stalls.
char* write_scaled(const Scaled& decimal, char* out) {
  const std::uint64_t unit = kTens[static_cast<std::size_t>(decimal.scale)];
  const std::uint64_t whole = decimal.digits / unit;
  const std::uint64_t rest = decimal.digits - whole * unit;
  const std::uint64_t fraction = rest * kTens[static_cast<std::size_t>(16 - decimal.scale)];
  out = write_whole(whole, out);
  *out++ = '.';
  store(eight_digits(fraction / kEight) | kAscii, out);
  store(eight_digits(fraction % kEight) | kAscii, out + 8);
  return out + decimal.scale;
}

// The shortest decimal of a float: 0.d1d2...dn times ten to the `point`.
struct Decimal {
  std::array<char, 32> digits{};  // at most 20 count; the others let blocks be copied
  std::size_t count = 0;
  int point = 0;
};

// How floats of one exponent become whole numbers of 17 or 18 digits: times ten to the `tens`. The
// mantissa, eleven bits up, times `factor` is that with 64 bits behind the binary point, exactly.
struct Scale {
  std::uint64_t factor;
  std::uint64_t unit;     // ten to the tens - 4: what is a multiple of it has four decimals
  std::uint64_t inverse;  // of the unit, times 2^(63 + shift) and rounded up
  unsigned shift;
  int tens;

  // value / unit, exactly, of a value below 2^60.
  std::uint64_t units_in(std::uint64_t value) const {
    return static_cast<std::uint64_t>(Wide{2 * value} * inverse >> 64U) >> shift;
  }
};

constexpr int kLeastExponent = -24;
constexpr int kMostExponent = 42;

constexpr auto make_scales() {
  std::array<Scale, kMostExponent - kLeastExponent + 1> scales{};
  for (int exponent = kLeastExponent; exponent <= kMostExponent; ++exponent) {
    const int tens = 16 - ((exponent * 1233) >> 12);  // log10(2) is nearly 1233 / 4096
    Scale scale{1, 1, 0, 0, tens};
    for (int i = 0; i < tens; ++i) scale.factor *= 5;
    for (int i = 4; i < tens; ++i) scale.unit *= 10;
    scale.shift = static_cast<unsigned>(std::bit_width(scale.unit)) - 1U;
    scale.inverse = static_cast<std::uint64_t>(((Wide{1} << (63U + scale.shift)) + scale.unit - 1) /
                                               scale.unit);
    scale.factor <<= static_cast<unsigned>(1 + exponent + tens);
    scales[static_cast<std::size_t>(exponent - kLeastExponent)] = scale;
  }
  return scales;
}
constexpr auto kScales = make_scales();

// The largest power of ten that has a multiple between two bounds.
struct Candidates {
  std::uint64_t low;
  std::uint64_t high;
  std::uint64_t unit = 1;
  int zeros = 0;

  void shorten() {
    for (;;) {
      const std::uint64_t lower = (low + 9) / 10;
      const std::uint64_t upper = high / 10;
      if (lower > upper) return;
      low = lower;
      high = upper;
      unit *= 10;
      ++zeros;
    }
  }
};

constexpr std::uint64_t above(Wide fixed) { return static_cast<std::uint64_t>(fixed >> 64U); }
constexpr std::uint64_t below(Wide fixed) { return static_cast<std::uint64_t>(fixed); }

// The multiple of the unit nearest to `exact`; false for a tie.
bool nearest(Wide exact, const Candidates& found, std::uint64_t& digits) {
  digits = found.unit == 10 ? above(exact) / 10 : above(exact) / found.unit;
  const std::uint64_t twice = 2 * (above(exact) - digits * found.unit);
  const std::uint64_t fraction = below(exact);
  static constexpr std::uint64_t kHalf = std::uint64_t{1} << 63U;
  if (found.unit == 1) {
    digits += fraction > kHalf ? 1 : 0;
    return fraction != kHalf;
  }
  digits += twice > found.unit || (twice == found.unit && fraction != 0) ? 1 : 0;
  return twice != found.unit || fraction != 0;
}

// The shortest digits of a float between 10^-7 and 10^12, in exact fixed point. What lies within
// half a last place of the float reads back as it; neither bound is ever a whole number, since it
// has one bit more than the float. False where it does not apply.
bool middle(double magnitude, Scaled& out) {
  const int exponent = exponent_of(magnitude);
  if (exponent < kLeastExponent || exponent > kMostExponent) return false;
  const Scale& scale = kScales[static_cast<std::size_t>(exponent - kLeastExponent)];
  const std::uint64_t mantissa = mantissa_of(magnitude);
  const bool power_of_two = mantissa == std::uint64_t{1} << kFraction;  // half as far from the next
  const Wide exact = Wide{mantissa << 11U} * scale.factor;
  const Wide half = Wide{scale.factor} << (power_of_two ? 9U : 10U);
  Candidates found{above(exact - half) + 1, above(exact + half)};
  // Money and measures have up to four decimals. No other fifteen digits are that near.
  static constexpr std::uint64_t kFifteen = 1'000'000'000'000'000;
  const std::uint64_t short_digits = scale.units_in(found.high);
  if (short_digits * scale.unit >= found.low && short_digits < kFifteen) {
    out = {short_digits, 4};
    return true;
  }
  if (power_of_two) return false;
  found.shorten();
  out.scale = scale.tens - found.zeros;
  return nearest(exact, found, out.digits);
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

}  // namespace

char* write_repr(double value, char* out) {
  if (std::isnan(value)) return write("nan", out);
  if (std::signbit(value)) *out++ = '-';
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return write("inf", out);
  if (magnitude == 0.0) return write("0.0", out);
  Decimal decimal;
  if (Scaled scaled{}; middle(magnitude, scaled)) {
    if (scaled.scale == 4) return write_four_decimals(scaled.digits, out);
    if (scaled.scale >= 1 && scaled.scale <= 16 && magnitude >= 1e-4)
      return write_scaled(scaled, out);
    spread(scaled, decimal);
  } else {
    shortest(magnitude, decimal);
  }
  return write_decimal(decimal, out);
}

char* write_number(double value, bool is_float, char* out) {
  if (is_float) return write_repr(value, out);
  return std::to_chars(out, out + 20, static_cast<std::int64_t>(value)).ptr;
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
