#include "runner/arithmetic/functions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "runner/arithmetic/operations.h"
#include "runner/arithmetic/text.h"

namespace runner::arithmetic {
namespace {

constexpr std::array<std::string_view, 6> kNames{"sqrt", "round", "abs", "min", "max", "sum"};

std::string_view type_name(const Number& number) { return is_float(number) ? "float" : "int"; }

std::string given(std::size_t count) { return concat({" (", std::to_string(count), " given)"}); }

tl::unexpected<Fault> not_iterable(const Number& number) {
  return fault(concat({"'", type_name(number), "' object is not iterable"}));
}

Outcome<Number> square_root(const std::vector<Number>& arguments) {
  if (arguments.size() != 1)
    return fault("math.sqrt() takes exactly one argument" + given(arguments.size()));
  const auto value = to_double(arguments[0]);
  if (!value) return tl::unexpected<Fault>(value.error());
  if (*value < 0.0) return fault("math domain error");
  return std::sqrt(*value);
}

Outcome<Number> absolute(const std::vector<Number>& arguments) {
  if (arguments.size() != 1)
    return fault("abs() takes exactly one argument" + given(arguments.size()));
  const Number& value = arguments[0];
  if (const auto* real = std::get_if<double>(&value)) return std::fabs(*real);
  return normalized(abs(to_big(value)));
}

Outcome<Number> extreme(Function function, const std::vector<Number>& values) {
  const Number* best = values.data();
  for (const Number& value : values) {
    const auto order = compare(value, *best);
    if (function == Function::kMin ? order < 0 : order > 0) best = &value;
  }
  return *best;
}

Outcome<Number> round_to_integer(const Number& value) {
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr) return value;
  if (std::isinf(*real)) return fault("cannot convert float infinity to integer");
  if (std::isnan(*real)) return fault("cannot convert float NaN to integer");
  return normalized(BigInt(std::nearbyint(*real)));  // ties to even
}

// `magnitude` / `unit` to nearest, ties to even.
BigInt round_quotient(const BigInt& magnitude, const BigInt& unit) {
  BigInt whole;
  BigInt rest;
  divide_qr(magnitude, unit, whole, rest);
  const BigInt twice = rest * 2;
  if (twice > unit || (twice == unit && bit_test(whole, 0))) whole += 1;
  return whole;
}

BigInt ten_to(int exponent) {
  return boost::multiprecision::pow(BigInt(10), static_cast<unsigned>(exponent));
}

Outcome<Number> round_integer(const Number& value, int digits) {
  if (digits >= 0) return value;
  static constexpr int kMostDigits = 1234;  // of an int within the bound
  if (digits < -kMostDigits - 1) return std::int64_t{0};
  const BigInt unit = ten_to(-digits);
  const BigInt big = to_big(value);
  BigInt result = round_quotient(abs(big), unit) * unit;
  if (big < 0) result = -result;
  return bounded(normalized(std::move(result)));
}

// To a multiple of ten to the `tens`, exactly from the float's own binary value.
Outcome<Number> round_to_tens(double value, int tens) {
  const BigInt unit = ten_to(tens);
  int exponent = 0;
  const double mantissa = std::frexp(std::fabs(value), &exponent);
  BigInt top(std::ldexp(mantissa, 53));
  BigInt bottom = unit;
  exponent -= 53;
  if (exponent > 0)
    top <<= static_cast<unsigned>(exponent);
  else
    bottom <<= static_cast<unsigned>(-exponent);
  const double result = round_to_double(round_quotient(top, bottom) * unit);
  if (std::isinf(result)) return fault("rounded value too large to represent");
  return std::copysign(result, value);
}

Outcome<Number> round_float(double value, int digits) {
  static constexpr int kMost = 323;    // every float is a multiple of 10^-323, nearly
  static constexpr int kLeast = -308;  // no float is half of 10^309
  if (!std::isfinite(value) || digits > kMost) return value;
  if (digits < kLeast) return 0.0 * value;
  if (digits < 0) return round_to_tens(value, -digits);
  std::array<char, 1024> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, digits);
  double result = 0.0;
  std::from_chars(text.data(), end.ptr, result);
  return result;
}

// An int as far as any rounding can tell it from others.
int clipped(const Number& integer) {
  static constexpr std::int64_t kFar = 100'000;
  if (const auto* small = std::get_if<std::int64_t>(&integer))
    return static_cast<int>(std::clamp(*small, -kFar, kFar));
  return static_cast<int>(std::get<BigInt>(integer) < 0 ? -kFar : kFar);
}

Outcome<Number> round_number(const std::vector<Number>& arguments) {
  if (arguments.empty()) return fault("round() missing required argument 'number' (pos 1)");
  if (arguments.size() > 2)
    return fault("round() takes at most 2 arguments" + given(arguments.size()));
  if (arguments.size() == 1) return round_to_integer(arguments[0]);
  if (is_float(arguments[1])) return fault("'float' object cannot be interpreted as an integer");
  const int digits = clipped(arguments[1]);
  if (const auto* real = std::get_if<double>(arguments.data())) return round_float(*real, digits);
  return round_integer(arguments[0], digits);
}

Outcome<Number> sum_of(const std::vector<Number>& arguments) {
  if (arguments.empty())
    return fault("sum() takes at least 1 positional argument" + given(arguments.size()));
  if (arguments.size() > 2)
    return fault("sum() takes at most 2 arguments" + given(arguments.size()));
  return not_iterable(arguments[0]);
}

Outcome<Number> extreme_of(Function function, const std::vector<Number>& arguments) {
  const std::string name(name_of(function));
  if (arguments.empty()) return fault(name + " expected at least 1 argument, got 0");
  if (arguments.size() == 1) return not_iterable(arguments[0]);
  return extreme(function, arguments);
}

}  // namespace

std::optional<Function> function_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Function>(i);
  return std::nullopt;
}

std::string_view name_of(Function function) { return kNames[static_cast<std::size_t>(function)]; }

Outcome<Number> call(Function function, const std::vector<Number>& arguments) {
  switch (function) {
    case Function::kSqrt:
      return square_root(arguments);
    case Function::kRound:
      return round_number(arguments);
    case Function::kAbs:
      return absolute(arguments);
    case Function::kMin:
    case Function::kMax:
      return extreme_of(function, arguments);
    case Function::kSum:
      break;
  }
  return sum_of(arguments);
}

Outcome<Number> call_on_sequence(Function function, const std::vector<Number>& elements) {
  if (function != Function::kSum) {
    if (elements.empty()) return fault(concat({name_of(function), "() arg is an empty sequence"}));
    return extreme(function, elements);
  }
  Number total = std::int64_t{0};
  for (const Number& element : elements) {
    auto next = apply_binary(Tok::kPlus, total, element);
    if (!next) return next;
    total = std::move(*next);
  }
  return total;
}

}  // namespace runner::arithmetic
