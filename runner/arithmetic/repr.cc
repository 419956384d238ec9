// repr() of numbers: float_repr_style "short".
#include <array>
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
  for (int kept = 4; kept > 1 && end[-1] == '0'; --kept) --end;
  return end;
}

// The shortest decimal of a float: 0.d1d2...dn times ten to the `point`.
struct Decimal {
  std::array<char, 20> digits;
  std::size_t count = 0;
  int point = 0;
};

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
  out = write(digits.substr(0, point), out);
  *out++ = '.';
  return write(digits.substr(point), out);
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
  shortest(magnitude, decimal);
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
