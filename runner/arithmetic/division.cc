// The three divisions of Python: / to the nearest float, // and % towards minus infinity.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runner/arithmetic/evaluator.h"
#include "runner/arithmetic/operations.h"

namespace runner::arithmetic {
namespace {

constexpr std::int64_t kExact = std::int64_t{1} << 53;  // ints up to here are floats exactly

bool is_exact(const Number& number, double& value) {
  const auto* small = std::get_if<std::int64_t>(&number);
  if (small == nullptr || *small > kExact || *small < -kExact) return false;
  value = static_cast<double>(*small);
  return true;
}

Outcome<Number> divide_ints(const Number& left, const Number& right) {
  if (is_zero(right)) return fault(std::string(kDivisionText));
  double a = 0.0;
  double b = 0.0;
  if (is_exact(left, a) && is_exact(right, b)) return a / b;
  const BigInt numerator = to_big(left);
  const BigInt denominator = to_big(right);
  const double magnitude = divide_to_double(abs(numerator), abs(denominator));
  if (std::isinf(magnitude)) return fault("integer division result too large for a float");
  return (numerator < 0) != (denominator < 0) ? -magnitude : magnitude;
}

struct Floats {
  double left = 0.0;
  double right = 0.0;
};

// Both as floats, the left one first, as Python converts them.
Outcome<Floats> as_floats(const Number& left, const Number& right) {
  const auto a = to_double(left);
  if (!a) return tl::unexpected<Fault>(a.error());
  const auto b = to_double(right);
  if (!b) return tl::unexpected<Fault>(b.error());
  return Floats{*a, *b};
}

// fmod with the divisor's sign, zeros included.
double float_modulo(double left, double right) {
  double rest = std::fmod(left, right);
  if (rest == 0.0) return std::copysign(0.0, right);
  if ((right < 0) != (rest < 0)) rest += right;
  return rest;
}

double float_floor_divide(double left, double right) {
  double rest = std::fmod(left, right);
  double quotient = (left - rest) / right;
  if (rest != 0.0 && (right < 0) != (rest < 0)) quotient -= 1.0;
  if (quotient == 0.0) return std::copysign(0.0, left / right);
  double whole = std::floor(quotient);
  if (quotient - whole > 0.5) whole += 1.0;
  return whole;
}

struct Quotient {
  BigInt whole;
  BigInt rest;
};

Quotient floor_division(const BigInt& left, const BigInt& right) {
  Quotient result;
  divide_qr(left, right, result.whole, result.rest);
  if (result.rest != 0 && (result.rest < 0) != (right < 0)) {
    result.whole -= 1;
    result.rest += right;
  }
  return result;
}

}  // namespace

// Long division to 55 bits or more and a sticky bit, then one rounding at the place where the
// float ends: 53 bits, or fewer where it is subnormal.
double divide_to_double(const BigInt& numerator, const BigInt& denominator) {
  if (numerator == 0) return 0.0;
  static constexpr int kMantissa = std::numeric_limits<double>::digits;
  static constexpr int kLeast = std::numeric_limits<double>::min_exponent - kMantissa;  // 2^-1074
  const int difference = static_cast<int>(msb(numerator)) - static_cast<int>(msb(denominator));
  if (difference > std::numeric_limits<double>::max_exponent)
    return std::numeric_limits<double>::infinity();
  if (difference < kLeast - 2) return 0.0;
  // The quotient is numerator / denominator * 2^-scale, with 55 or 56 bits, fewer at the bottom.
  const int scale = std::max(difference - kMantissa - 2, kLeast - 2);
  BigInt top = numerator;
  BigInt bottom = denominator;
  if (scale < 0)
    top <<= static_cast<unsigned>(-scale);
  else
    bottom <<= static_cast<unsigned>(scale);
  BigInt whole;
  BigInt rest;
  divide_qr(top, bottom, whole, rest);
  auto bits = static_cast<std::uint64_t>(whole);
  const int length = bits == 0 ? 0 : 64 - __builtin_clzll(bits);
  const int drop = std::max(length - kMantissa, kLeast - scale);
  if (rest != 0) bits |= 1U;  // sticky: at least two bits are dropped
  const std::uint64_t unit = std::uint64_t{1} << static_cast<unsigned>(drop);
  const std::uint64_t half = unit >> 1U;
  const std::uint64_t lost = bits & (unit - 1);
  bits -= lost;
  if (lost > half || (lost == half && (bits & unit) != 0)) bits += unit;
  return std::ldexp(static_cast<double>(bits), scale);
}

Outcome<Number> true_divide(const Number& left, const Number& right) {
  if (!is_float(left) && !is_float(right)) return divide_ints(left, right);
  const auto both = as_floats(left, right);
  if (!both) return tl::unexpected<Fault>(both.error());
  if (both->right == 0.0) return fault(std::string(kFloatDivisionText));
  return both->left / both->right;
}

Outcome<Number> floor_divide(const Number& left, const Number& right) {
  if (!is_float(left) && !is_float(right)) {
    if (is_zero(right)) return fault("integer division or modulo by zero");
    return normalized(floor_division(to_big(left), to_big(right)).whole);
  }
  const auto both = as_floats(left, right);
  if (!both) return tl::unexpected<Fault>(both.error());
  if (both->right == 0.0) return fault("float floor division by zero");
  return float_floor_divide(both->left, both->right);
}

Outcome<Number> modulo(const Number& left, const Number& right) {
  if (!is_float(left) && !is_float(right)) {
    if (is_zero(right)) return fault("integer modulo by zero");
    return normalized(floor_division(to_big(left), to_big(right)).rest);
  }
  const auto both = as_floats(left, right);
  if (!both) return tl::unexpected<Fault>(both.error());
  if (both->right == 0.0) return fault("float modulo");
  return float_modulo(both->left, both->right);
}

}  // namespace runner::arithmetic
