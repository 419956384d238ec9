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

bool is_power_of_two(double magnitude) {
  return mantissa_of(magnitude) == std::uint64_t{1} << kFraction;
}

// Most results are money and measures: up to four decimals. Digits below 10^15 that are nearer to
// the float than half of its last place are the only ones that short, so they are the shortest.
// Null where there are none.
char* write_short(double magnitude, char* out) {
  static constexpr std::uint64_t kScale = 10'000;
  const int exponent = exponent_of(magnitude);
  if (exponent < -13 || exponent > 35) return nullptr;
  const int shift = kFraction - exponent;
  const Wide scaled = Wide{mantissa_of(magnitude)} * kScale;  // times two to the -shift
  const auto digits = static_cast<std::uint64_t>((scaled + (Wide{1} << (shift - 1))) >> shift);
  // Half of the last place, and half of that below a power of two; a tie is left to the others.
  const std::uint64_t near = is_power_of_two(magnitude) ? kScale / 4 - 1 : kScale / 2 - 1;
  if (scaled - (Wide{digits} << shift) + near > 2 * near) return nullptr;
  char* const end = write_whole(digits / kScale, out);
  *end = '.';
  const std::uint64_t fraction = eight_digits(digits % kScale) >> 32U;
  store(fraction | kAscii, end + 1);
  const int zeros = (std::countl_zero(fraction) - 32) / 8;
  return end + 1 + std::max(1, 4 - zeros);
}

// A decimal: digits / ten to the `scale`. The digits end in no zero.
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

constexpr std::array<std::uint64_t, 28> make_fives() {
  std::array<std::uint64_t, 28> fives{1};
  for (std::size_t i = 1; i < fives.size(); ++i) fives[i] = fives[i - 1] * 5;
  return fives;
}
constexpr std::array<std::uint64_t, 28> kFives = make_fives();

// The multiples of ten to some power between two bounds, for the largest power that has any.
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

// The shortest digits of a float between 10^-10 and 10^15, exactly, in integers: scaled by ten to
// the `tens` it has 17 digits or more before the point, and the floats beside it are two units of
// the last place of `twice` away, so what lies within one unit reads back as this float. False
// where it does not apply: out of range, or a power of two, or a tie.
bool middle(double magnitude, Scaled& out) {
  const int exponent = exponent_of(magnitude);
  const std::uint64_t mantissa = mantissa_of(magnitude);
  if (is_power_of_two(magnitude) || exponent < -33 || exponent > 49) return false;
  const int tens = 16 - ((exponent * 1233) >> 12);  // log10(2) is nearly 1233 / 4096
  const int shift = kFraction + 1 - exponent - tens;
  const std::uint64_t five = kFives[static_cast<std::size_t>(tens)];
  const Wide twice = Wide{2 * mantissa} * five;
  const Wide mask = (Wide{1} << shift) - 1;
  const Wide least = twice - five;
  const Wide most = twice + five;
  const std::uint64_t open = mantissa & 1U;  // the ends count where the mantissa is even
  Candidates found{};
  found.low = static_cast<std::uint64_t>(
      (least + mask + (((least & mask) == 0) ? open << shift : 0)) >> shift);
  found.high = static_cast<std::uint64_t>((most - (((most & mask) == 0) ? open : 0)) >> shift);
  found.shorten();
  const auto whole = static_cast<std::uint64_t>(twice >> shift);
  std::uint64_t digits = found.unit == 10 ? whole / 10 : whole / found.unit;
  const Wide rest = (Wide{whole - digits * found.unit} << shift) | (twice & mask);
  const Wide half = (Wide{found.unit} << shift) >> 1U;
  if (rest == half) return false;
  if (rest > half) ++digits;
  out = {digits, tens - found.zeros};
  return true;
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
  if (char* const end = write_short(magnitude, out)) return end;
  Decimal decimal;
  if (Scaled scaled{}; middle(magnitude, scaled)) {
    if (scaled.scale >= 1 && scaled.scale <= 16 && magnitude >= 1e-4)
      return write_scaled(scaled, out);
    spread(scaled, decimal);
  } else {
    shortest(magnitude, decimal);
  }
  return write_decimal(decimal, out);
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
