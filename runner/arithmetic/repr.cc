// repr() of numbers: float_repr_style "short".
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

// Most results are money and measures: up to four decimals. Digits below 10^15 that divide back to
// the float are the only ones that short, so they are the shortest. Null where there are none.
char* write_short(double magnitude, char* out) {
  static constexpr double kScale = 1e4;
  static constexpr double kMost = 1e15;
  const double scaled = magnitude * kScale;
  if (!(scaled >= 1.0 && scaled < kMost)) return nullptr;
  const auto digits = static_cast<std::uint64_t>(static_cast<std::int64_t>(scaled + 0.5));
  if (static_cast<double>(static_cast<std::int64_t>(digits)) / kScale != magnitude) return nullptr;
  char* end = std::to_chars(out, out + 16, digits / 10'000).ptr;
  const auto fraction = static_cast<unsigned>(digits % 10'000);
  *end = '.';
  end[1] = static_cast<char>('0' + fraction / 1000);
  end[2] = static_cast<char>('0' + fraction / 100 % 10);
  end[3] = static_cast<char>('0' + fraction / 10 % 10);
  end[4] = static_cast<char>('0' + fraction % 10);
  end += 5;
  while (end[-1] == '0' && end[-2] != '.') --end;
  return end;
}

// The shortest decimal of a float: 0.d1d2...dn times ten to the `point`.
struct Decimal {
  std::array<char, 32> digits{};  // at most 17 count; the others let blocks be copied
  std::size_t count = 0;
  int point = 0;
};

// Eight digits, leading zeros and all, in one word: halves, quarters, eighths side by side.
void write_eight(std::uint64_t value, char* out) {
  const std::uint64_t fours = value / 10'000 | (value % 10'000) << 32U;
  const std::uint64_t tops = ((fours * 10486U) >> 20U) & 0x0000007F0000007FU;  // / 100
  const std::uint64_t twos = tops | (fours - tops * 100U) << 16U;
  const std::uint64_t tens = ((twos * 103U) >> 10U) & 0x000F000F000F000FU;  // / 10
  const std::uint64_t ones = tens | (twos - tens * 10U) << 8U;
  const std::uint64_t text = ones | 0x3030303030303030U;
  std::memcpy(out, &text, sizeof text);
}

// Between 16 and 18 digits are likely; others go the slow way.
void set_digits(std::uint64_t value, Decimal& out) {
  static constexpr std::uint64_t kEight = 100'000'000;
  static constexpr std::uint64_t kSixteen = kEight * kEight;
  const std::uint64_t lead = value / kSixteen;
  char* const begin = out.digits.data();
  if (lead >= 10 || value < kSixteen / 10) {
    out.count = static_cast<std::size_t>(std::to_chars(begin, begin + 20, value).ptr - begin);
    return;
  }
  const std::size_t first = lead != 0 ? 1 : 0;
  const std::uint64_t rest = value - lead * kSixteen;
  *begin = static_cast<char>('0' + lead);
  write_eight(rest / kEight, begin + first);
  write_eight(rest % kEight, begin + first + 8);
  out.count = 16 + first;
}

constexpr std::array<std::uint64_t, 28> make_fives() {
  std::array<std::uint64_t, 28> fives{1};
  for (std::size_t i = 1; i < fives.size(); ++i) fives[i] = fives[i - 1] * 5;
  return fives;
}
constexpr std::array<std::uint64_t, 28> kFives = make_fives();

__extension__ using Wide = unsigned __int128;

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
bool middle(double magnitude, Decimal& out) {
  static constexpr int kFraction = 52;
  const auto bits = std::bit_cast<std::uint64_t>(magnitude);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << kFraction) - 1);
  const int exponent = static_cast<int>(bits >> kFraction) - 1023;
  if (fraction == 0 || exponent < -33 || exponent > 49) return false;
  const int tens = 16 - ((exponent * 1233) >> 12);  // log10(2) is nearly 1233 / 4096
  const int shift = kFraction + 1 - exponent - tens;
  const std::uint64_t five = kFives[static_cast<std::size_t>(tens)];
  const std::uint64_t mantissa = fraction | (std::uint64_t{1} << kFraction);
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
  set_digits(digits, out);
  out.point = static_cast<int>(out.count) + found.zeros - tens;
  return true;
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
  if (!middle(magnitude, decimal)) shortest(magnitude, decimal);
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
