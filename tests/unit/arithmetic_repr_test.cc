// repr() of floats: the shortest digits that read back, whichever of the three ways finds them.
#include <array>
#include <catch2/catch.hpp>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "runner/arithmetic/number.h"

namespace {

std::string repr(double value) {
  std::string text;
  runner::arithmetic::append_repr(value, text);
  return text;
}

// The digits alone, without zeros at either end.
std::string digits(std::string text) {
  text = text.substr(0, text.find('e'));
  std::erase(text, '.');
  text.erase(0, text.find_first_not_of('0'));
  return text.substr(0, text.find_last_not_of('0') + 1);
}

std::string shortest_digits(double value) {
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
  return digits({text.data(), end.ptr});
}

void check(double value) {
  const std::string text = repr(value);
  if (std::strtod(text.c_str(), nullptr) == value && digits(text) == shortest_digits(value)) return;
  FAIL_CHECK(text << " is not the repr of " << std::hexfloat << value);
}

}  // namespace

TEST_CASE("arithmetic: random floats have the shortest digits") {
  constexpr unsigned kSeed = 20240601;
  INFO("seed " << kSeed);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 300'000; ++i) {
    const auto bits = static_cast<double>(random() >> 11U);
    check(std::ldexp(bits, -static_cast<int>(random() % 100)));
    check(static_cast<double>(random() % 1'000'000) / static_cast<double>(1 + random() % 9999));
    check(std::ldexp(bits, static_cast<int>(random() % 2000) - 1080));
  }
}

TEST_CASE("arithmetic: powers of two and their neighbours have the shortest digits") {
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    const double power = std::ldexp(1.0, exponent);
    check(power);
    check(std::nextafter(power, std::numeric_limits<double>::max()));
    if (exponent > -1074) check(std::nextafter(power, 0.0));
  }
}

TEST_CASE("arithmetic: floats are laid out as Python lays them out") {
  CHECK(repr(0.1) == "0.1");
  CHECK(repr(-123.0) == "-123.0");
  CHECK(repr(1e16) == "1e+16");
  CHECK(repr(9999999999999998.0) == "9999999999999998.0");
  CHECK(repr(0.0001) == "0.0001");
  CHECK(repr(0.00012345678901234567) == "0.00012345678901234567");
  CHECK(repr(0.000012345678901234567) == "1.2345678901234568e-05");
  CHECK(repr(1.5e300) == "1.5e+300");
  CHECK(repr(1e-7) == "1e-07");
  CHECK(repr(-0.0) == "-0.0");
  CHECK(repr(1.0 / 3) == "0.3333333333333333");
  CHECK(repr(2.0 / 3) == "0.6666666666666666");
  CHECK(repr(100.0 / 3) == "33.333333333333336");
  CHECK(repr(123456789012.5678) == "123456789012.5678");
}
