// Python's two kinds of number, and how they turn into each other. Pure; any thread.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

namespace runner::arithmetic {

using BigInt = boost::multiprecision::cpp_int;

// An int that fits 64 bits is always held in 64 bits.
using Number = std::variant<std::int64_t, BigInt, double>;

// Why an operation has no result: Python's text for its exception, or a bound of ours.
struct Fault {
  std::string text;
};
template <class T>
using Outcome = tl::expected<T, Fault>;
inline tl::unexpected<Fault> fault(std::string text) {
  return tl::unexpected<Fault>(Fault{std::move(text)});
}

// A literal as the lexer accepted it: underscores, 0x 0o 0b, exponents. Never fails; a float out of
// range is inf or 0.0.
Number integer_from_literal(std::string_view literal);
double float_from_literal(std::string_view literal);

Number normalized(BigInt value);
BigInt to_big(const Number& integer);  // of an int only
bool is_float(const Number& number);
bool is_infinite(const Number& number);
bool is_zero(const Number& number);

// float(number): to nearest, ties to even; "int too large to convert to float".
Outcome<double> to_double(const Number& number);

// value * 2^exponent to nearest, ties to even; infinite where it is out of range.
double round_to_double(const BigInt& magnitude);

// As Python compares int with float: exactly.
std::partial_ordering compare(const Number& left, const Number& right);

// repr(): the shortest digits that read back as the same float, in Python's layout.
// write_repr() returns the end; a float takes at most kMaxFloatRepr bytes.
inline constexpr std::size_t kMaxFloatRepr = 40;
char* write_repr(double value, char* out);
// The repr of a float, or of an int below 2^53 that is held as one.
enum class Kind : std::uint8_t { kInt, kFloat };
char* write_number(double value, Kind kind, char* out);
void append_repr(double value, std::string& out);
void append_repr(const Number& number, std::string& out);

}  // namespace runner::arithmetic
