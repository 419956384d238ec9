// sandglass eval, one expression at a time.
#include <fcntl.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tests/eval/program.h"
#include "tests/support/temp_dir.h"

using eval_test::Ran;
using eval_test::sandglass;

namespace {

namespace json = boost::json;

const std::string kData = SANDGLASS_EVAL_DATA;

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

void check_value(const std::string& expression, const std::string& value) {
  const Ran ran = sandglass({"eval", expression});
  CHECK(ran.out == value + "\n");
  CHECK(ran.err.empty());
  CHECK(ran.code == 0);
}

void check_refused(const std::string& expression, const std::string& why) {
  const Ran ran = sandglass({"eval", expression});
  CHECK(ran.out.empty());
  CHECK(ran.err == "sandglass: refused: " + why + "\n");
  CHECK(ran.code == 4);
}

void check_usage(const std::vector<std::string>& args, const std::string& why) {
  const Ran ran = sandglass(args);
  CHECK(ran.out.empty());
  CHECK(ran.err == "sandglass: " + why + "\n");
  CHECK(ran.code == 125);
}

std::string calc(const support::TempDir& folder) {
  std::ofstream(folder / "calc.toml") << "name = \"calc\"\nextends = \"restricted\"\n"
                                         "why = \"powers and roots\"\n[arithmetic]\n"
                                         "operators = [\"**\"]\nfunctions = [\"sqrt\"]\n";
  return folder / "calc.toml";
}

}  // namespace

TEST_CASE("a value is alone on stdout") {
  check_value("38.50 + 41.00", "79.5");
  check_value("(3.2 - 3.0) * 20", "4.0000000000000036");
  check_value(" 2*3 ", "6");
}

TEST_CASE("an expression may begin with a minus") {
  check_value("-1+2", "1");
  check_value("--1", "1");
  check_value("- 5", "-5");
  check_value("-.5", "-0.5");
  CHECK(sandglass({"eval", "--", "-1+2"}).out == "1\n");
  CHECK(sandglass({"eval", "--json", "--", "-1+2"}).out == "{\"value\": \"1\"}\n");
  CHECK(sandglass({"eval", "-1+2", "--json"}).out == "{\"value\": \"1\"}\n");
}

TEST_CASE("a dash reads stdin") {
  const Ran ran = sandglass({"eval", "-"}, {"  38.50\t+ 41.00\n\n"});
  CHECK(ran.out == "79.5\n");
  CHECK(ran.code == 0);
  CHECK(sandglass({"eval", "-"}, {""}).code == 3);
}

TEST_CASE("the bounds") {
  check_value("1" + repeated("+1", 31), "32");
  check_refused("1" + repeated("+1", 40), "expression nests deeper than 32 levels");
  check_refused(repeated("9", 5000), "expression is 5000 characters; the limit is 200");
  check_refused("1e400", "result is not a finite number: inf");
  check_refused("1e308*1e308", "result is not a finite number: inf");
  check_refused("1/0", "division by zero");
  check_refused("f(1)", "Call is not on the arithmetic whitelist");
}

TEST_CASE("an infinite intermediate is noted") {
  const Ran ran = sandglass({"eval", "1/1e400"});
  CHECK(ran.out == "0.0\n");
  CHECK(ran.err == "sandglass: note: an intermediate was infinite\n");
  CHECK(ran.code == 0);
  CHECK(sandglass({"eval", "--json", "1/1e400"}).out ==
        "{\"value\": \"0.0\", \"note\": \"an intermediate was infinite\"}\n");
}

TEST_CASE("NONE and nothing are declined") {
  for (const char* text : {"NONE", "none", " NoNe\n", "", "  "}) {
    const Ran ran = sandglass({"eval", text});
    CHECK(ran.out.empty());
    CHECK(ran.err == "sandglass: declined: the text is empty or NONE\n");
    CHECK(ran.code == 3);
  }
  const Ran ran = sandglass({"eval", "--json", "NONE"});
  CHECK(ran.out == "{\"declined\": true}\n");
  CHECK(ran.code == 3);
}

TEST_CASE("a refusal as JSON, with what would allow it") {
  const Ran ran = sandglass({"eval", "--json", "2**10"});
  CHECK(ran.out ==
        "{\"refused\": \"whitelist\", \"message\": \"BinOp is not on the arithmetic whitelist\", "
        "\"hint\": \"a policy can allow it: [arithmetic] operators = [\\\"**\\\"]\"}\n");
  CHECK(ran.err.empty());
  CHECK(ran.code == 4);
  check_refused("2**10",
                "BinOp is not on the arithmetic whitelist; a policy can allow it: [arithmetic] "
                "operators = [\"**\"]");
}

TEST_CASE("a policy's operators and functions hold") {
  const support::TempDir folder;
  const std::string policy = calc(folder);
  CHECK(sandglass({"eval", "--policy", policy, "2**10"}).out == "1024\n");
  CHECK(sandglass({"eval", "--policy", policy, "sqrt(16)"}).out == "4.0\n");
  CHECK(sandglass({"eval", "--policy", policy, "7 % 2"}).code == 4);
  CHECK(sandglass({"eval", "--policy", "restricted", "2**10"}).code == 4);
  const Ran batch = sandglass({"eval", "--batch", "--policy", policy}, {"\"2**3\"\n\"abs(1)\"\n"});
  CHECK(batch.out.starts_with("{\"value\": \"8\"}\n{\"refused\": \"whitelist\""));
  CHECK(sandglass({"policy", "explain", policy}).out ==
        "calc: powers and roots.\nStarts no process at all: one arithmetic expression is "
        "evaluated. Beyond + - * /: **, sqrt.\n");
  const std::string shown = sandglass({"policy", "show", policy}).out;
  CHECK(shown.find("[arithmetic]\noperators = [\"**\"]\nfunctions = [\"sqrt\"]\n") !=
        std::string::npos);
}

TEST_CASE("twelve questions, and where their numbers come from") {
  const json::value questions = json::parse(content(kData + "/questions.json"));
  REQUIRE(questions.as_array().size() == 12);
  for (const json::value& entry : questions.as_array()) {
    const json::object& question = entry.as_object();
    const std::string expression(question.at("expression").as_string());
    INFO(expression);
    const Ran ran = sandglass({"eval", "--json", "--sources", kData + "/sources.json", expression});
    CHECK(ran.code == 0);
    const json::object answer = json::parse(ran.out).as_object();
    CHECK(answer.at("value") == question.at("value"));
    CHECK(answer.at("unsourced") == question.at("unsourced"));
  }
}

TEST_CASE("sources, for a person") {
  const std::string sources = kData + "/sources.json";
  const Ran ran = sandglass({"eval", "--sources", sources, "38.5 + 41.00 + 46.00"});
  CHECK(ran.out == "125.5\n");
  CHECK(ran.err ==
        "sandglass: 38.5 is in [1]\nsandglass: 41.00 is in [2]\nsandglass: in no source: 46.00\n");
  CHECK(ran.code == 0);
  const support::TempDir folder;
  std::ofstream(folder / "bad.json") << "{}";
  check_usage(
      {"eval", "--sources", folder / "bad.json", "1"},
      folder / "bad.json" + std::string(": sources: a list of sources is wanted at byte 0; write "
                                        "[{\"cite\": \"[1]\", \"text\": \"...\"}, ...]"));
  CHECK(sandglass({"eval", "--sources", folder / "missing.json", "1"}).code == 125);
}

TEST_CASE("words that make no sense are refused with a way out") {
  check_usage({"eval"},
              "eval: no expression; for example sandglass eval '38.50 + 41.00', or - for stdin");
  check_usage({"eval", "1", "+", "2"},
              "eval: more than one expression; quote it: sandglass eval '38.50 + 41.00'");
  check_usage({"eval", "--batch", "1"},
              "eval: --batch reads its expressions from stdin; leave out 1");
  check_usage({"eval", "--batch", "--sources", "x.json"},
              "eval: --sources goes with one expression, not --batch");
  check_usage({"eval", "--policy", "standard", "1"},
              "the policy \"standard\" starts processes; arithmetic goes by one with mode = "
              "\"restricted\"");
  const Ran ran = sandglass({"eval", "--bogus", "1"});
  CHECK(ran.code == 125);
  CHECK(ran.err.find("--bogus; see sandglass eval --help") != std::string::npos);
  const Ran as_json = sandglass({"eval", "--json", "1", "2"});
  CHECK(as_json.out.starts_with("{\"error\":{\"kind\":\"usage\""));
  CHECK(as_json.code == 125);
}

TEST_CASE("a full disk is our failure, not a value") {
  const Ran ran = sandglass({"eval", "1"}, {"", [] {
                                              const int full = ::open("/dev/full", O_WRONLY);
                                              ::dup2(full, STDOUT_FILENO);
                                            }});
  CHECK(ran.err == "sandglass: cannot write to stdout: ENOSPC; see whether there is room\n");
  CHECK(ran.code == 125);
}
