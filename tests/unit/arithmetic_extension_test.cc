// What a policy can add to the grammar, and what it costs at most.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "runner/arithmetic/arithmetic.h"

namespace {

using namespace runner::arithmetic;

// Sanitizers and unoptimised code are slower by a factor.
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
constexpr double kMostMicroseconds = 1000.0;
#else
constexpr double kMostMicroseconds = 40'000.0;
#endif

Options everything() {
  return make_options({"%", "//", "**"}, {"sqrt", "round", "abs", "min", "max", "sum"}).value();
}

}  // namespace

TEST_CASE("arithmetic: extensions compute what Python computes") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"2 ** 10", "1024"},
      {"2 ** -1", "0.5"},
      {"-2 ** 2", "-4"},
      {"2 ** 0.5", "1.4142135623730951"},
      {"(-8) ** 3.0", "-512.0"},
      {"0 ** 0", "1"},
      {"1 ** 99999999999999999999", "1"},
      {"-7 // 2", "-4"},
      {"-7 % 3", "2"},
      {"7.5 % -2", "-0.5"},
      {"-7.5 // 2", "-4.0"},
      {"0.0 % -1", "-0.0"},
      {"sqrt(2)", "1.4142135623730951"},
      {"round(2.5)", "2"},
      {"round(2.675, 2)", "2.67"},
      {"round(15, -1)", "20"},
      {"round(-25, -1)", "-20"},
      {"round(1234.5, -2)", "1200.0"},
      {"round(1, -99999999999)", "0"},
      {"abs(-0.0)", "0.0"},
      {"max(2**53 + 1, 2.0**53)", "9007199254740993"},
      {"min(1, 1.0)", "1"},
      {"sum([1, 2.5, (3)])", "6.5"},
      {"sum(())", "0"},
      {"\xEF\xBD\x93qrt(4)", "2.0"},  // NFKC makes a full-width s an s
  };
  for (const auto& [text, expected] : cases) {
    INFO(text << " -> " << to_json(evaluate(text, everything())));
    CHECK(evaluate(text, everything()).value == expected);
  }
}

TEST_CASE("arithmetic: extensions fail as Python fails") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"1 // 0", "integer division or modulo by zero"},
      {"1 % 0", "integer modulo by zero"},
      {"1.0 // 0", "float floor division by zero"},
      {"1.0 % 0", "float modulo"},
      {"0 ** -1", "0.0 cannot be raised to a negative power"},
      {"10.0 ** 400", "(34, 'Numerical result out of range')"},
      {"10 ** 400 * 1.0", "int too large to convert to float"},
      {"10 ** 400 / 3", "integer division result too large for a float"},
      {"(-1) ** 0.5", "a negative number to a fractional power is not real"},
      {"sqrt(-1)", "math domain error"},
      {"sqrt()", "math.sqrt() takes exactly one argument (0 given)"},
      {"round(1e400)", "cannot convert float infinity to integer"},
      {"round(1, 2.0)", "'float' object cannot be interpreted as an integer"},
      {"min()", "min expected at least 1 argument, got 0"},
      {"max([])", "max() arg is an empty sequence"},
      {"sum(1)", "'int' object is not iterable"},
      {"9**9**9", "power is larger than 4096 bits"},
      {"2**4096", "power is larger than 4096 bits"},
      {"2**4095 + 2**4095", "integer is larger than 4096 bits"},
  };
  for (const auto& [text, message] : cases) {
    const Verdict verdict = evaluate(text, everything());
    INFO(text << " -> " << to_json(verdict));
    CHECK(verdict.decision == Decision::kRefused);
    CHECK(verdict.refusal == Refusal::kArithmetic);
    CHECK(verdict.message == message);
  }
}

TEST_CASE("arithmetic: a refusal that a policy could lift says so") {
  CHECK(to_json(evaluate("2 ** 10")) ==
        R"({"refused": "whitelist", "message": "BinOp is not on the arithmetic whitelist", )"
        R"("hint": "a policy can allow it: [arithmetic] operators = [\"**\"]"})");
  CHECK(evaluate("sqrt(2)").hint == "a policy can allow it: [arithmetic] functions = [\"sqrt\"]");
  for (const std::string text : {"1 << 1000000", "1 @ 2", "exp(1)", "x.sqrt(1)", "2 + x"})
    CHECK(evaluate(text).hint.empty());
}

TEST_CASE("arithmetic: each extension is off unless named") {
  const Options only_modulo = make_options({"%"}, {"abs"}).value();
  CHECK(evaluate("7 % abs(-4)", only_modulo).value == "3");
  CHECK(evaluate("7 // 4", only_modulo).refusal == Refusal::kWhitelist);
  CHECK(evaluate("max(1, 2)", only_modulo).refusal == Refusal::kWhitelist);
  for (const std::string text : {"abs(*[1])", "abs(x=1)", "[abs][0](1)", "1 << 2", "min(1, [2])"})
    CHECK(evaluate(text, everything()).refusal == Refusal::kWhitelist);
  CHECK(make_options({"<<"}, {}).error() == "unknown operator \"<<\": one of % // **");
  CHECK(make_options({}, {"exp"}).error() ==
        "unknown function \"exp\": one of sqrt round abs min max sum");
}

TEST_CASE("arithmetic: no text costs much") {
  std::vector<std::string> texts;
  for (const std::string part : {"*3**2584", "%3**2583", "//7**1458", "+3**2584", "**9", "/3**2584",
                                 "-max(3**2584,3**2583)", "+round(3**2584,-700)", "*1e308**-1"}) {
    std::string text = "3**2584";
    while (text.size() + part.size() <= kMaxCodePoints) text += part;
    texts.push_back(text);
    texts.push_back(text.substr(2));
  }
  for (const std::string& text : texts) {
    auto least = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 5; ++i) {
      const auto began = std::chrono::steady_clock::now();
      evaluate(text, everything());
      least = std::min(least, std::chrono::steady_clock::now() - began);
    }
    INFO(text);
    CHECK(std::chrono::duration<double, std::micro>(least).count() < kMostMicroseconds);
  }
}
