// Python's operators on Python's numbers, to the last bit, with Python's error texts.
// Ints past kMaxIntegerBits are a fault of ours. Pure; any thread.
#pragma once

#include <string_view>

#include "runner/arithmetic/number.h"
#include "runner/arithmetic/token.h"

namespace runner::arithmetic {

// `op`: kPlus, kMinus, kStar, kSlash, kPercent, kDoubleSlash or kPower.
Outcome<Number> apply_binary(Tok op, const Number& left, const Number& right);

// `op`: kPlus or kMinus.
Number apply_unary(Tok op, const Number& operand);

// The number itself, or the fault that it is an int past the bound.
Outcome<Number> bounded(Number number);

// power.cc
Outcome<Number> power(const Number& base, const Number& exponent);

// division.cc
Outcome<Number> true_divide(const Number& left, const Number& right);
Outcome<Number> floor_divide(const Number& left, const Number& right);
Outcome<Number> modulo(const Number& left, const Number& right);

// A quotient of magnitudes to nearest, ties to even; infinite where it is out of range.
double divide_to_double(const BigInt& numerator, const BigInt& denominator);

}  // namespace runner::arithmetic
