// Where the numbers of an expression come from.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runner/arithmetic/sources.h"

namespace {

using namespace runner::arithmetic;
using Texts = std::vector<std::string>;

Texts unsourced(const std::string& expression, const std::string& text) {
  return check_sources(expression, {{"[1]", text}}).unsourced;
}

}  // namespace

TEST_CASE("arithmetic: each number is looked up in each source") {
  const std::vector<Source> sources{
      {"[1]", "DW-300 heating element: $38.50. Normal cycle 3.2 gallons, 42 minutes."},
      {"[2]", "DW-480 heating element: $41 (was $46.00)."},
  };
  const SourceReport report = check_sources("38.5 + 41.00 + 300", sources);
  REQUIRE(report.numbers.size() == 3);
  CHECK(report.numbers[0].number == "38.5");
  CHECK(report.numbers[0].cites == Texts{"[1]"});
  CHECK(report.numbers[1].cites == Texts{"[2]"});
  CHECK(report.unsourced == Texts{"300"});
  CHECK(to_json(evaluate("38.5 + 41.00 + 300"), report) ==
        R"({"value": "379.5", "numbers": [{"number": "38.5", "cites": ["[1]"]}, )"
        R"({"number": "41.00", "cites": ["[2]"]}, {"number": "300", "cites": []}], )"
        R"("unsourced": ["300"]})");
}

TEST_CASE("arithmetic: numbers are the same however they are spelled") {
  CHECK(unsourced("1234 + 1_234.0 + 0x4d2 + 1.234e3", "1,234 units").empty());
  CHECK(unsourced("1234567.89", "$1,234,567.89.").empty());
  CHECK(unsourced("0.5 + .5 + 5e-1", "a half is .5").empty());
  CHECK(unsourced("1000", "1e3").empty());
  CHECK(unsourced("30 + 14 + 130", "a 30-minute cycle, 14%, 130W").empty());
  CHECK(unsourced("5 + 7 + 8",
                  "5\xE2\x82\xAC, \xE2\x80\x9C"
                  "7\xE2\x80\x9D, \xC2\xA3"
                  "8")
            .empty());
  CHECK(unsourced("100 + 200", "100-200").empty());
  CHECK(unsourced("0 + 0.0", "0").empty());
  CHECK(unsourced("3.2 * 3.2", "no numbers") == Texts{"3.2"});
}

TEST_CASE("arithmetic: what only looks like a number is none") {
  CHECK(unsourced("300", "the DW-300") == Texts{"300"});
  CHECK(unsourced("2",
                  "H2, x_2, \xC3\xA9"
                  "2") == Texts{"2"});
  CHECK(unsourced("1.2 + 2.3 + 3", "section 1.2.3") == Texts{"1.2", "2.3", "3"});
  CHECK(unsourced("1234", "12,34") == Texts{"1234"});
  CHECK(unsourced("12 + 34", "12,34").empty());
  CHECK(unsourced("38", "38.50") == Texts{"38"});
}

TEST_CASE("arithmetic: an expression without numbers has an empty report") {
  for (const std::string text : {"", "NONE", "f(x)", "'1'", "1 + '"})
    CHECK(check_sources(text, {{"[1]", "1"}}).numbers.empty());
}

TEST_CASE("arithmetic: sources come as JSON") {
  const auto sources = sources_from_json(R"( [{"cite": "[1]", "text": "a\u00e9\n1"},
                                              {"text": "", "cite": "b"}] )");
  REQUIRE(sources);
  REQUIRE(sources->size() == 2);
  CHECK((*sources)[0].text == "a\xC3\xA9\n1");
  CHECK((*sources)[1].cite == "b");
  CHECK(sources_from_json("[]")->empty());
  CHECK(sources_from_json(R"([{"cite": "a"}])").error() ==
        "sources: a source needs \"cite\" and \"text\" at byte 14");
  for (const std::string bad : {"", "{}", "[", "[{}]", "[1]", R"([{"cite": 1}])", "[] 1",
                                R"([{"cite": "a", "cite": "b", "text": ""}])", R"([{"url": "a"}])"})
    CHECK_FALSE(sources_from_json(bad));
}
