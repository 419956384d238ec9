// The verdicts of the restricted mode: values, refusals, bounds, declines. Every expectation here
// is what CPython 3.11 gives; tests/differential asks it about many more.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runner/arithmetic/arithmetic.h"
#include "runner/arithmetic/evaluator.h"
#include "runner/arithmetic/text.h"

namespace {

using namespace runner::arithmetic;

std::string json(const std::string& text) {
  std::string fast = to_json(evaluate(text));
  CHECK(fast == to_json(evaluate_in_full(text, {})));
  return fast;
}

std::string value(const std::string& text) {
  const Verdict verdict = evaluate(text);
  INFO(text << " -> " << json(text));
  CHECK(verdict.decision == Decision::kValue);
  return verdict.value.str();
}

struct Refused {
  Refusal kind;
  std::string message;
  bool operator==(const Refused&) const = default;
};

Refused refused(const std::string& text) {
  const Verdict verdict = evaluate(text);
  INFO(text << " -> " << json(text));
  CHECK(verdict.decision == Decision::kRefused);
  return {verdict.refusal, verdict.message.str()};
}

Refused not_whitelisted(const std::string& node) {
  return {Refusal::kWhitelist, node + " is not on the arithmetic whitelist"};
}

std::string repeated(const std::string& part, int times) {
  std::string whole;
  for (int i = 0; i < times; ++i) whole += part;
  return whole;
}

}  // namespace

TEST_CASE("arithmetic: ints are unbounded and floats are doubles") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"38.50 + 41.00", "79.5"},
      {"1_000 * 1_000", "1000000"},
      {"9223372036854775807 + 1", "9223372036854775808"},
      {"-9223372036854775808 - 1", "-9223372036854775809"},
      {"-(-9223372036854775807 - 1)", "9223372036854775808"},
      {"99999999999999999999 * 99999999999999999999", "9999999999999999999800000000000000000001"},
      {"0xff + 0o17 + 0b11 + 0XA_B", "444"},
      {"00_0", "0"},
      {"7 / 2", "3.5"},
      {"6 / 2", "3.0"},
      {"0 / -5", "-0.0"},
      {"-0", "0"},
      {"-0.0", "-0.0"},
      {"0 * -1.0", "-0.0"},
      {"0.1 + 0.2", "0.30000000000000004"},
      {"(3.2 - 3.0) * 20", "4.0000000000000036"},
      {"1e22", "1e+22"},
      {"1e16", "1e+16"},
      {"1e15", "1000000000000000.0"},
      {"0.0001", "0.0001"},
      {"0.00001", "1e-05"},
      {"5e-324", "5e-324"},
      {"2.4703282292062327e-324", "0.0"},
      {"2.4703282292062328e-324", "5e-324"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"9007199254740993 * 1.0", "9007199254740992.0"},
      {"9007199254740993 / 1", "9007199254740992.0"},
      {"36028797018963969 / 4", "9007199254740992.0"},
      {"+-+-3", "3"},
      {"\t 1\n", "1"},
      {"\xE3\x80\x80"
       "7\xC2\xA0",
       "7"},
      {"1 # + f()", "1"},
      {"(1\n+ # two\n2)", "3"},
      {"1 \\\n+ 2", "3"},
      {"08.5", "8.5"},
      {".5", "0.5"},
      {"5.", "5.0"},
      {"1.e2", "100.0"},
  };
  for (const auto& [text, expected] : cases) CHECK(value(text) == expected);
}

TEST_CASE("arithmetic: an int has no sign at zero, and is exact past where a float is") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"-0.0 - 0*1", "-0.0"},
      {"-0.0 + 0*-1", "0.0"},
      {"-0.0 - 0", "-0.0"},
      {"0*-1*2.5", "0.0"},
      {"0*-1", "0"},
      {"5 - 0*-1*2.5", "5.0"},
      {"0/-3", "-0.0"},
      {"(0*-1)/3", "0.0"},
      {"-0.0 - (1 - 1)", "-0.0"},
      {"1 - 1 - 0.0", "0.0"},
      {"70368744177664 + 1", "70368744177665"},
      {"70368744177663 * 64", "4503599627370432"},
      {"9007199254740991 - 1 + 1", "9007199254740991"},
      {"(4503599627370496 + 4503599627370496) - 1", "9007199254740991"},
      {"1234567.5*2", "2469135.0"},
      {"0.10 + 7.", "7.1"},
      {"3 - 2 * 0.5 / 4 - 1", "1.75"},
  };
  for (const auto& [text, expected] : cases) CHECK(value(text) == expected);
}

TEST_CASE("arithmetic: the twelve questions") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"3.2 * 10", "32.0"},      {"240 * 0.14", "33.6"},
      {"260 - 240", "20"},       {"(3.2 - 3.0) * 20", "4.0000000000000036"},
      {"38.50 + 41.00", "79.5"}, {"57.00 + 9.75", "66.75"},
      {"140 - 130", "10"},       {"42 * 2 + 20", "104"},
      {"3.0 * 0.010", "0.03"},   {"180 / 30", "6.0"},
      {"128 - 125", "3"},        {"12.50 + 13.25", "25.75"},
  };
  for (const auto& [text, expected] : cases) CHECK(value(text) == expected);
}

TEST_CASE("arithmetic: a refusal names the node that Python names") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"f()", "Call"},
      {"__import__('os').system('id')", "Call"},
      {"f() ** g()", "BinOp"},
      {"1 % f()", "BinOp"},
      {"~f()", "UnaryOp"},
      {"not 1", "UnaryOp"},
      {"True", "Constant"},
      {"None + 1", "Constant"},
      {"1j", "Constant"},
      {"...", "Constant"},
      {"'a' 'b'", "Constant"},
      {"b'a'", "Constant"},
      {"f'{x}'", "JoinedStr"},
      {"f''", "JoinedStr"},
      {"x", "Name"},
      {"x.y", "Attribute"},
      {"x[1:2, *y]", "Subscript"},
      {"[1]", "List"},
      {"1,", "Tuple"},
      {"{1}", "Set"},
      {"{}", "Dict"},
      {"[x for x in y]", "ListComp"},
      {"{x async for x in y}", "SetComp"},
      {"{x: 1 for x in y}", "DictComp"},
      {"(x for x in y)", "GeneratorExp"},
      {"lambda *a, b=1, **c: 0", "Lambda"},
      {"1if 1else 2", "IfExp"},
      {"1 < 2 < 3", "Compare"},
      {"1 or 2", "BoolOp"},
      {"0x1for x in y", "BoolOp"},
      {"(x := 1)", "NamedExpr"},
      {"await x", "Await"},
      {"(yield)", "Yield"},
      {"(yield from x)", "YieldFrom"},
      {"1 + x + f()", "Name"},
  };
  for (const auto& [text, node] : cases) {
    INFO(text);
    CHECK(refused(text) == not_whitelisted(node));
  }
}

TEST_CASE("arithmetic: the first refusal in Python's order is the one reported") {
  CHECK(refused("1 + 1/0 + f()") == Refused{Refusal::kArithmetic, "division by zero"});
  CHECK(refused("f() + 1/0") == not_whitelisted("Call"));
  CHECK(refused("1/0.0") == Refused{Refusal::kArithmetic, "float division by zero"});
  CHECK(refused("1/0 +").kind == Refusal::kSyntax);
}

TEST_CASE("arithmetic: what Python can't parse is a syntax refusal") {
  for (const std::string text : {"0777",
                                 "1__0",
                                 "1_",
                                 "0x",
                                 "0b2",
                                 "1e",
                                 "1a",
                                 "1 1",
                                 "(1",
                                 "1)",
                                 "(1]",
                                 "+",
                                 "1 +",
                                 "1 = 2",
                                 "x = 1",
                                 "*a",
                                 "1 <> 2",
                                 "f(a=1, b)",
                                 "f(**a, *b)",
                                 "f(x for x in y, 1)",
                                 "[*a for a in b]",
                                 "lambda a=1, b: 0",
                                 "lambda *: 0",
                                 "(*a)",
                                 "print x",
                                 "1\n2",
                                 "1\n 2",
                                 "#c\n 1",
                                 "1 \\ \n+ 2",
                                 "'a",
                                 "b'\xC3\xA9'",
                                 "'\\x4'",
                                 "'\\N{}'",
                                 "'a' b'b'",
                                 "f'{}'",
                                 "f'{x!z}'",
                                 "f'{x'",
                                 "f'}'",
                                 "f'{a:{b:{c}}}'",
                                 "\xEF\xBC\x91",
                                 "1\xC2\xA0+ 1",
                                 "\xED\xA0\x80",
                                 "\xFF",
                                 "$1",
                                 "1;"})
    CHECK(refused(text).kind == Refusal::kSyntax);
  CHECK(refused(std::string("1\0", 2)).kind == Refusal::kSyntax);
  CHECK(refused("1 +\xC3\xA9 + * 2").message ==
        "not a valid expression: invalid syntax (column 8)");
}

TEST_CASE("arithmetic: the bounds") {
  CHECK(value(concat({"1", repeated("+1", 31)})) == "32");
  CHECK(value(concat({"1", repeated("+1", 32)})) == "33");
  const Refused deep{Refusal::kDepth, "expression nests deeper than 32 levels"};
  CHECK(refused(concat({"1", repeated("+1", 33)})) == deep);
  CHECK(refused(concat({"1", repeated("+1", 40)})) == deep);
  CHECK(value(concat({repeated("-", 32), "1"})) == "1");
  CHECK(refused(concat({repeated("-", 33), "1"})) == deep);
  CHECK(value(concat({repeated("(", 99), "1", repeated(")", 99)})) == "1");
  CHECK(value(repeated("9", 200)) == repeated("9", 200));
  CHECK(refused(repeated("9", 5000)) ==
        Refused{Refusal::kLength, "expression is 5000 characters; the limit is 200"});
  CHECK(refused(repeated("\xC3\xA9", 201)).kind == Refusal::kLength);
  CHECK(refused(repeated("\xC3\xA9", 200)) == not_whitelisted("Name"));
}

TEST_CASE("arithmetic: a sum too deep is told by its shape, but its syntax counts first") {
  const Refused deep{Refusal::kDepth, "expression nests deeper than 32 levels"};
  for (const std::string text :
       {"1/0", "1 * 2", ".5", "0.", "-+ 1", "0", "9e9", "(1)", "00", "1_0"})
    CHECK(refused(concat({text, repeated(" + 1", 33)})) == deep);
  for (const std::string tail :
       {"**2", "//2", " % 2", " * -2", " - 3. /.1", "+1e3", "+0x1", "+(1)"})
    CHECK(refused(concat({"1", repeated("-1", 33), tail})) == deep);
  for (const std::string tail : {"+", "+01", "+1 1", "+1..", "+.", "*/2", "+1.5.2", " +1a", "+ )"})
    CHECK(refused(concat({"1", repeated("+1", 33), tail})).kind == Refusal::kSyntax);
  CHECK(value(concat({"1", repeated("+ -1", 31)})) == "-30");
  CHECK(refused(concat({"1", repeated("+ -1", 32)})) == deep);  // the first - is at 32, its 1 at 33
  CHECK(value(concat({"1", repeated("*1", 20), repeated("+1", 12)})) == "13");
  CHECK(refused(concat({"1", repeated("+1", 32), "*x"})) == not_whitelisted("Name"));
}

TEST_CASE("arithmetic: every short tail of a long sum, and every short middle") {
  const std::string characters = "$019.+-*/ (e";  // no part ends in the first one
  constexpr std::size_t kTexts = std::size_t{12} * 12 * 12 * 12;
  const std::string before = concat({"1", repeated("+1", 31)});
  const std::string after = concat({"1", repeated("-2", 3)});
  int deep = 0;
  for (std::size_t code = 0; code < kTexts; ++code) {
    std::string part;
    for (std::size_t rest = code; rest != 0; rest /= 12) part += characters[rest % 12];
    for (const std::string& text : {before + "+1" + part, before + part + after}) {
      const std::string verdict = to_json(evaluate(text));
      if (verdict != to_json(evaluate_in_full(text, {}))) FAIL(text << " -> " << verdict);
      deep += verdict.find("depth") != std::string::npos ? 1 : 0;
    }
  }
  CHECK(deep > 1000);
}

TEST_CASE("arithmetic: a result is finite") {
  const std::string before = "result is not a finite number: ";
  CHECK(refused("1e400") == Refused{Refusal::kNotFinite, before + "inf"});
  CHECK(refused("-1e400") == Refused{Refusal::kNotFinite, before + "-inf"});
  CHECK(refused("1e308 * 1e308") == Refused{Refusal::kNotFinite, before + "inf"});
  CHECK(refused("1e400 - 1e400") == Refused{Refusal::kNotFinite, before + "nan"});
  CHECK(json("1/1e400") == R"({"value": "0.0", "note": "an intermediate was infinite"})");
}

TEST_CASE("arithmetic: an empty reply and NONE are declined") {
  for (const std::string text : {"", "  \n", "NONE", "none", "\xC2\xA0NoNe\n"})
    CHECK(json(text) == R"({"declined": true})");
  CHECK(refused("NONE.").kind == Refusal::kSyntax);
  CHECK(refused("NONE + 1") == not_whitelisted("Name"));
}
