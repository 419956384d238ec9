// `**`: ints by squaring within the bound, floats by the C library's pow, as CPython does.
#include <cerrno>
#include <cmath>

#include "runner/arithmetic/arithmetic.h"
#include "runner/arithmetic/operations.h"

namespace runner::arithmetic {
namespace {

std::string too_large() {
  return "power is larger than " + std::to_string(kMaxIntegerBits) + " bits";
}

// base ** exponent for ints, exponent >= 0. The result has more than (bits - 1) * exponent bits:
// past the bound it is refused before anything is multiplied.
Outcome<Number> integer_power(const BigInt& base, const BigInt& exponent) {
  if (exponent == 0) return std::int64_t{1};
  if (base == 0) return std::int64_t{0};
  if (base == 1) return std::int64_t{1};
  if (base == -1) return std::int64_t{bit_test(exponent, 0) ? -1 : 1};
  const BigInt least = BigInt(msb(abs(base))) * exponent;
  if (least >= kMaxIntegerBits) return fault(too_large());
  BigInt result = boost::multiprecision::pow(base, static_cast<unsigned>(exponent));
  if (msb(abs(result)) >= kMaxIntegerBits) return fault(too_large());
  return normalized(std::move(result));
}

bool is_odd(double value) { return std::fmod(std::fabs(value), 2.0) == 1.0; }

// The cases that CPython decides before it asks pow(): they set no error.
bool special(double base, double exponent, double& result) {
  if (exponent == 0.0 || base == 1.0) {
    result = 1.0;
  } else if (std::isnan(base) || std::isnan(exponent)) {
    result = std::isnan(base) ? base : exponent;
  } else if (std::isinf(exponent)) {
    const double size = std::fabs(base);
    if (size == 1.0)
      result = 1.0;
    else if ((exponent > 0) == (size > 1.0))
      result = std::fabs(exponent);
    else
      result = 0.0;
  } else if (std::isinf(base)) {
    const bool odd = is_odd(exponent);
    if (exponent > 0)
      result = odd ? base : std::fabs(base);
    else
      result = odd ? std::copysign(0.0, base) : 0.0;
  } else {
    return false;
  }
  return true;
}

Outcome<Number> float_power(double base, double exponent) {
  double result = 0.0;
  if (special(base, exponent, result)) return result;
  if (base == 0.0) {
    if (exponent < 0.0) return fault("0.0 cannot be raised to a negative power");
    return is_odd(exponent) ? base : 0.0;
  }
  if (base < 0.0 && exponent != std::floor(exponent))
    return fault("a negative number to a fractional power is not real");
  const double size = std::fabs(base);
  const bool negative = base < 0.0 && is_odd(exponent);
  if (size == 1.0) return negative ? -1.0 : 1.0;
  result = std::pow(size, exponent);
  if (std::isinf(result)) return fault("(34, 'Numerical result out of range')");
  return negative ? -result : result;
}

}  // namespace

Outcome<Number> power(const Number& base, const Number& exponent) {
  if (!is_float(base) && !is_float(exponent)) {
    const BigInt power = to_big(exponent);
    if (power >= 0) return integer_power(to_big(base), power);
  }
  const auto left = to_double(base);
  if (!left) return tl::unexpected<Fault>(left.error());
  const auto right = to_double(exponent);
  if (!right) return tl::unexpected<Fault>(right.error());
  return float_power(*left, *right);
}

}  // namespace runner::arithmetic
