#include "runner/arithmetic/number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace runner::arithmetic {
namespace {

constexpr unsigned digit_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  return static_cast<unsigned>((c | 0x20) - 'a') + 10U;
}

constexpr std::uint64_t kChunk = 1'000'000'000'000'000'000;  // ten to the eighteenth

// A few digits at a time, so that a big int is touched seldom.
Number integer_from_digits(std::string_view digits, unsigned radix) {
  BigInt total = 0;
  std::uint64_t chunk = 0;
  std::uint64_t scale = 1;
  bool big = false;
  for (const char c : digits) {
    if (c == '_') continue;
    if (scale >= kChunk / radix) {
      total = total * scale + chunk;
      chunk = 0;
      scale = 1;
      big = true;
    }
    chunk = chunk * radix + digit_value(c);
    scale *= radix;
  }
  if (!big) return static_cast<std::int64_t>(chunk);
  total = total * scale + chunk;
  return normalized(std::move(total));
}

// Whether a float literal that does not fit is too large rather than too small.
bool overflows(std::string_view digits) {
  const std::size_t mark = digits.find_first_of("eE");
  const std::string_view mantissa = digits.substr(0, mark);
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  if (mark != std::string_view::npos) return digits[mark + 1] != '-';
  return true;
}

}  // namespace

Number normalized(BigInt value) {
  static const BigInt kLeast = std::numeric_limits<std::int64_t>::min();
  static const BigInt kMost = std::numeric_limits<std::int64_t>::max();
  if (value >= kLeast && value <= kMost) return static_cast<std::int64_t>(value);
  return value;
}

Number integer_from_literal(std::string_view literal) {
  if (literal.size() < 2 || literal[0] != '0') return integer_from_digits(literal, 10);
  switch (literal[1] | 0x20) {
    case 'x':
      return integer_from_digits(literal.substr(2), 16);
    case 'o':
      return integer_from_digits(literal.substr(2), 8);
    case 'b':
      return integer_from_digits(literal.substr(2), 2);
    default:
      return integer_from_digits(literal, 10);
  }
}

double float_from_literal(std::string_view literal) {
  std::array<char, 1024> buffer;
  std::string_view digits = literal;
  if (literal.find('_') != std::string_view::npos) {
    const char* const end =
        std::remove_copy(literal.begin(), literal.begin() + std::min(literal.size(), buffer.size()),
                         buffer.data(), '_');
    digits = {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
  }
  double value = 0.0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc::result_out_of_range) return value;
  return overflows(digits) ? std::numeric_limits<double>::infinity() : 0.0;
}

BigInt to_big(const Number& integer) {
  if (const auto* small = std::get_if<std::int64_t>(&integer)) return *small;
  return std::get<BigInt>(integer);
}

bool is_float(const Number& number) { return std::holds_alternative<double>(number); }

bool is_infinite(const Number& number) {
  const auto* value = std::get_if<double>(&number);
  return value != nullptr && std::isinf(*value);
}

bool is_zero(const Number& number) {
  if (const auto* value = std::get_if<double>(&number)) return *value == 0.0;
  const auto* small = std::get_if<std::int64_t>(&number);
  return small != nullptr && *small == 0;
}

double round_to_double(const BigInt& magnitude) {
  if (magnitude == 0) return 0.0;
  const auto bits = static_cast<unsigned>(msb(magnitude)) + 1U;
  if (bits <= 64) return static_cast<double>(static_cast<std::uint64_t>(magnitude));
  if (bits > 1024) return std::numeric_limits<double>::infinity();
  const unsigned shift = bits - 64;
  auto top = static_cast<std::uint64_t>(BigInt(magnitude >> shift));
  if (lsb(magnitude) < shift) top |= 1U;  // sticky: eleven bits are to be rounded off anyway
  return std::ldexp(static_cast<double>(top), static_cast<int>(shift));
}

Outcome<double> to_double(const Number& number) {
  if (const auto* value = std::get_if<double>(&number)) return *value;
  if (const auto* small = std::get_if<std::int64_t>(&number)) return static_cast<double>(*small);
  const auto& big = std::get<BigInt>(number);
  const double value = round_to_double(abs(big));
  if (std::isinf(value)) return fault("int too large to convert to float");
  return big < 0 ? -value : value;
}

namespace {

std::partial_ordering order(const BigInt& left, const BigInt& right) {
  const int sign = left.compare(right);
  if (sign < 0) return std::partial_ordering::less;
  return sign > 0 ? std::partial_ordering::greater : std::partial_ordering::equivalent;
}

std::partial_ordering compare_int_float(const Number& integer, double real) {
  if (std::isnan(real)) return std::partial_ordering::unordered;
  if (std::isinf(real))
    return real > 0 ? std::partial_ordering::less : std::partial_ordering::greater;
  const double whole = std::floor(real);
  const auto result = order(to_big(integer), BigInt(whole));
  if (result != std::partial_ordering::equivalent || whole == real) return result;
  return std::partial_ordering::less;
}

}  // namespace

std::partial_ordering compare(const Number& left, const Number& right) {
  if (is_float(left) && is_float(right)) return std::get<double>(left) <=> std::get<double>(right);
  if (is_float(right)) return compare_int_float(left, std::get<double>(right));
  if (is_float(left)) return 0 <=> compare_int_float(right, std::get<double>(left));
  return order(to_big(left), to_big(right));
}

}  // namespace runner::arithmetic
