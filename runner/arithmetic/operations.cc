#include "runner/arithmetic/operations.h"

#include "runner/arithmetic/arithmetic.h"

namespace runner::arithmetic {
namespace {

double add_floats(Tok op, double left, double right) {
  if (op == Tok::kPlus) return left + right;
  return op == Tok::kMinus ? left - right : left * right;
}

// True where the result does not fit 64 bits.
bool add_small(Tok op, std::int64_t left, std::int64_t right, std::int64_t& result) {
  if (op == Tok::kPlus) return __builtin_add_overflow(left, right, &result);
  if (op == Tok::kMinus) return __builtin_sub_overflow(left, right, &result);
  return __builtin_mul_overflow(left, right, &result);
}

BigInt add_big(Tok op, const BigInt& left, const BigInt& right) {
  if (op == Tok::kPlus) return left + right;
  if (op == Tok::kMinus) return left - right;
  return left * right;
}

// + - *
Outcome<Number> add(Tok op, const Number& left, const Number& right) {
  if (is_float(left) || is_float(right)) {
    const auto a = to_double(left);
    if (!a) return tl::unexpected<Fault>(a.error());
    const auto b = to_double(right);
    if (!b) return tl::unexpected<Fault>(b.error());
    return add_floats(op, *a, *b);
  }
  const auto* small_left = std::get_if<std::int64_t>(&left);
  const auto* small_right = std::get_if<std::int64_t>(&right);
  std::int64_t result = 0;
  if (small_left != nullptr && small_right != nullptr &&
      !add_small(op, *small_left, *small_right, result))
    return result;
  return bounded(normalized(add_big(op, to_big(left), to_big(right))));
}

}  // namespace

Outcome<Number> bounded(Number number) {
  const auto* big = std::get_if<BigInt>(&number);
  if (big != nullptr && msb(abs(*big)) >= kMaxIntegerBits)
    return fault("integer is larger than " + std::to_string(kMaxIntegerBits) + " bits");
  return number;
}

Outcome<Number> apply_binary(Tok op, const Number& left, const Number& right) {
  switch (op) {
    case Tok::kSlash:
      return true_divide(left, right);
    case Tok::kDoubleSlash:
      return floor_divide(left, right);
    case Tok::kPercent:
      return modulo(left, right);
    case Tok::kPower:
      return power(left, right);
    default:
      return add(op, left, right);
  }
}

Number apply_unary(Tok op, const Number& operand) {
  if (op == Tok::kPlus) return operand;
  if (const auto* real = std::get_if<double>(&operand)) return -*real;
  const auto* small = std::get_if<std::int64_t>(&operand);
  std::int64_t result = 0;
  if (small != nullptr && !__builtin_sub_overflow(std::int64_t{0}, *small, &result)) return result;
  return normalized(-to_big(operand));
}

}  // namespace runner::arithmetic
