// Batch lines: one JSON string in, one verdict out, whatever the line is.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runner/arithmetic/arithmetic.h"

namespace {

std::string answer(const std::string& line) {
  std::string out;
  runner::arithmetic::batch_line(line, {}, out);
  return out;
}

std::string repeated(const std::string& part, int times) {
  std::string whole;
  for (int i = 0; i < times; ++i) whole += part;
  return whole;
}

}  // namespace

TEST_CASE("arithmetic: a batch line holds one JSON string") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"("1 + 2")", R"({"value": "3"})"},
      {"\"1 + 2\"\r\n", R"({"value": "3"})"},
      {" \t\"1\\u0020+\\n2\" ",
       "{\"refused\": \"syntax\", \"message\": \"not a valid expression: "
       "invalid syntax (column 4)\"}"},
      {R"("\u00a01\/2")", R"({"value": "0.5"})"},
      {R"("none")", R"({"declined": true})"},
      {R"(" 1 + 1 ")", R"({"value": "2"})"},
      {R"("1/0")", R"({"refused": "arithmetic", "message": "division by zero"})"},
      {R"("1.5/0")", R"({"refused": "arithmetic", "message": "float division by zero"})"},
      {"\"1" + repeated("+1", 33) + "\"",
       R"({"refused": "depth", "message": "expression nests deeper than 32 levels"})"},
      {R"("two apples")",
       "{\"refused\": \"syntax\", \"message\": \"not a valid expression: "
       "invalid syntax; perhaps an operator is missing (column 5)\"}"},
      {R"("")", R"({"declined": true})"},
      {R"("'\ud83d\ude00'")", R"({"refused": "whitelist", "message": )"
                              R"("Constant is not on the arithmetic whitelist"})"},
      {R"("\ud83d")", R"({"refused": "syntax", "message": )"
                      R"("not a valid expression: a lone surrogate is no text"})"},
      {R"("1\u0000")", R"({"refused": "syntax", "message": )"
                       R"("not a valid expression: it holds a NUL character"})"},
  };
  for (const auto& [line, expected] : cases) CHECK(answer(line) == expected + "\n");
}

TEST_CASE("arithmetic: a line that is no JSON string gets an error") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "the line is not a JSON string"},
      {"1 + 2", "the line is not a JSON string"},
      {"[\"1\"]", "the line is not a JSON string"},
      {"\"1 + 2", "the JSON string is not closed"},
      {"\"", "the JSON string is not closed"},
      {"\"1\" \"2\"", "something follows the JSON string"},
      {"\"1\t\"", "a control character stands bare in the JSON string"},
      {"\"\\x\"", "bad escape in the JSON string"},
      {"\"\\u12\"", "bad escape in the JSON string"},
      {"\"\xFF\"", "the line is not UTF-8"},
  };
  for (const auto& [line, error] : cases) CHECK(answer(line) == "{\"error\": \"" + error + "\"}\n");
}
