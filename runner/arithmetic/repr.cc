// repr() of numbers: float_repr_style "short".
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "runner/arithmetic/number.h"

namespace runner::arithmetic {
namespace {

// The shortest decimal of a float: 0.d1d2...dn times ten to the `point`.
struct Decimal {
  std::array<char, 20> digits;
  int count = 0;
  int point = 0;
};

// Most results are money and measures: a few decimals. A decimal of at most fifteen digits that
// divides back to the float is the only one that short, so it is the shortest.
bool try_short(double magnitude, Decimal& out) {
  static constexpr double kScale = 1e4;
  static constexpr double kMost = 1e15;
  const double scaled = magnitude * kScale;
  if (!(scaled < kMost) || scaled < 1.0) return false;
  auto whole = static_cast<std::uint64_t>(scaled + 0.5);
  if (static_cast<double>(whole) / kScale != magnitude) return false;
  int drop = 0;
  while (whole % 10 == 0) {
    whole /= 10;
    ++drop;
  }
  const auto end = std::to_chars(out.digits.data(), out.digits.data() + out.digits.size(), whole);
  out.count = static_cast<int>(end.ptr - out.digits.data());
  out.point = out.count + drop - 4;
  return true;
}

void shortest(double magnitude, Decimal& out) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), magnitude,
                                 std::chars_format::scientific);
  const char* mark = text.data();
  for (; *mark != 'e'; ++mark)
    if (*mark != '.') out.digits[static_cast<std::size_t>(out.count++)] = *mark;
  const bool negative = mark[1] == '-';
  int exponent = 0;
  std::from_chars(mark + 2, end.ptr, exponent);
  out.point = (negative ? -exponent : exponent) + 1;
}

void append_exponent(const Decimal& decimal, std::string& out) {
  out += decimal.digits[0];
  if (decimal.count > 1) {
    out += '.';
    out.append(decimal.digits.data() + 1, static_cast<std::size_t>(decimal.count - 1));
  }
  const int exponent = decimal.point - 1;
  out += exponent < 0 ? "e-" : "e+";
  const int size = std::abs(exponent);
  if (size < 10) out += '0';
  std::array<char, 8> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), size);
  out.append(text.data(), end.ptr);
}

void append_decimal(const Decimal& decimal, std::string& out) {
  const auto count = static_cast<std::size_t>(decimal.count);
  if (decimal.point <= -4 || decimal.point > 16) {
    append_exponent(decimal, out);
  } else if (decimal.point <= 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-decimal.point), '0');
    out.append(decimal.digits.data(), count);
  } else if (decimal.point >= decimal.count) {
    out.append(decimal.digits.data(), count);
    out.append(static_cast<std::size_t>(decimal.point - decimal.count), '0');
    out += ".0";
  } else {
    const auto point = static_cast<std::size_t>(decimal.point);
    out.append(decimal.digits.data(), point);
    out += '.';
    out.append(decimal.digits.data() + point, count - point);
  }
}

}  // namespace

void append_repr(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::signbit(value)) out += '-';
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) {
    out += "inf";
  } else if (magnitude == 0.0) {
    out += "0.0";
  } else {
    Decimal decimal;
    if (!try_short(magnitude, decimal)) shortest(magnitude, decimal);
    append_decimal(decimal, out);
  }
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
