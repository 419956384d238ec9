#include <algorithm>
#include <sstream>
// What a session keeps between executions, and how values, output and errors are shown.
#include <catch2/catch.hpp>

#include "tests/sessions/sessions_under_test.h"
#include "tests/support/leftovers.h"

using namespace sessions_test;
using namespace runner;

TEST_CASE(
    "variables, imports, functions, folder and open files last, and nothing stays at the end") {
  require_jails();
  const support::Leftovers leftovers;
  {
    SessionsUnderTest test;
    const std::string id = test.open();
    CHECK(id.starts_with("cntr_"));
    CHECK(id.size() == 37);
    const Told first = test.run(id,
                                "import os, math\nx = 40\ndef plus(n): return x + n\n"
                                "os.mkdir('sub'); os.chdir('sub')\nf = open('log', 'w+')\n"
                                "f.write('kept');");
    CHECK(first.order == "begin outcome");
    CHECK(std::string(first.word()) == "ok");
    CHECK(first.kept());
    CHECK(first.number == 1);
    const Told second = test.run(id, "f.seek(0); (plus(2), math.pi, os.getcwd(), f.read())");
    CHECK(second.value() == "(42, 3.141592653589793, '/mnt/data/sub', 'kept')");
    CHECK(second.results.at(0).is_main);
    CHECK(second.number == 2);
    CHECK(test.run(id, "_[0]").value() == "42");
    const std::string other = test.open();
    const Told apart = test.run(other, "x");
    CHECK(std::string(apart.word()) == "raised");
    CHECK(apart.raised.at(0).name == "NameError");
    CHECK(test.run(other, "import os; os.listdir('.')").value() == "[]");
    REQUIRE(test.service->remove("", id));
    CHECK(test.begin(id, {"1"})->kind == Refusal::Kind::kNotFound);
  }
  CHECK(leftovers.found() == "");
}

TEST_CASE("stdout, stderr and results come in the order they were made, subprocesses too") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const Told told = test.run(id,
                             "import sys, os\nprint('a')\ndisplay(1)\n"
                             "print('b', file=sys.stderr)\ndisplay(2)\n"
                             "os.system('echo c')\ndisplay(3)\n'last'");
  CHECK(told.order == "begin out result err result out result result outcome");
  CHECK(told.out == "a\nc\n");
  CHECK(told.err == "b\n");
  REQUIRE(told.results.size() == 4);
  CHECK_FALSE(told.results[0].is_main);
  CHECK(told.results[3].is_main);
  CHECK(told.value() == "'last'");
  CHECK(told.finished.outcome.out.produced == 4);
  // However close they are; what a test harness reads late comes in order all the same.
  const Told close =
      test.run(id,
               "for i in range(60):\n  print('a')\n  display(i)\n  print('b', file=sys.stderr)\n"
               "  print('c')\n  os.system('echo d >&2')\n  display(i)\n  os.system('echo e')");
  std::string order = "begin";
  for (int i = 0; i < 60; ++i)
    order += std::string(i == 0 ? " out" : "") + " result err out err result out";
  CHECK(close.order == order + " outcome");
  CHECK(close.results.size() == 120);
  const Told large = test.run(id, "print('x' * 500000); 7");
  CHECK(large.out == std::string(500000, 'x') + "\n");
  CHECK(large.order == "begin out result outcome");
}

TEST_CASE("of results without end 256 are shown, and the others are counted") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const Told many = test.run(id, "for i in range(300): display(i)\n'last'");
  CHECK(many.results.size() == 256);
  CHECK(many.value() == "255");
  CHECK(many.finished.results_dropped == 45);
  // One that is too large for what is left is no reason to drop the small ones behind it.
  const std::string bundle = "display({'text/html': 'x' * 15_000_000}, raw=True)\n";
  const Told larger = test.run(id, "for i in range(6): " + bundle + "7");
  CHECK(larger.finished.results_dropped == 2);
  CHECK(larger.value() == "7");
  CHECK(test.run(id, "7").finished.results_dropped == 0);
}

TEST_CASE("tracebacks name the lines of the code that was sent") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  CHECK(std::string(test.run(id, "def fails(n):\n    y = 1\n    return y / n\n").word()) == "ok");
  const Told told = test.run(id, "a = 1\n\nfails(0)\n");
  CHECK(std::string(told.word()) == "raised");
  CHECK(told.kept());
  CHECK(told.finished.outcome.status == std::nullopt);
  REQUIRE(told.raised.size() == 1);
  CHECK(told.raised[0].name == "ZeroDivisionError");
  CHECK(told.raised[0].value == "division by zero");
  const std::string& trace = told.raised[0].traceback;
  CHECK(contains(trace, "<cell 2>\", line 3, in <module>"));
  CHECK(contains(trace, "<cell 1>\", line 3, in fails"));
  CHECK(contains(trace, "return y / n"));
  CHECK_FALSE(contains(trace, "_sandglass"));
  const Told syntax = test.run(id, "x = 1\ny = = 2\n");
  REQUIRE(syntax.raised.size() == 1);
  CHECK(syntax.raised[0].name == "SyntaxError");
  CHECK(contains(syntax.raised[0].traceback, "line 2"));
  CHECK(test.run(id, "a").value() == "1");
}

TEST_CASE("input() reads what the request gave, and says what is missing") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const Told given = test.run(id, Code{"input(), input()", {}, "one\ntwo\n"});
  CHECK(given.value() == "('one', 'two')");
  const Told none = test.run(id, "input('name? ')");
  CHECK(std::string(none.word()) == "raised");
  REQUIRE(none.raised.size() == 1);
  CHECK(contains(none.raised[0].value, "stdin"));
  const Told short_one = test.run(id, Code{"input(); input()", {}, "only\n"});
  REQUIRE(short_one.raised.size() == 1);
  CHECK(short_one.raised[0].name == "EOFError");
  CHECK(test.run(id, "await __import__('asyncio').sleep(0, 5)").value() == "5");
}

TEST_CASE("tables come as HTML and text, charts as PNG without asking, and libraries are loaded") {
  require_jails();
  SessionsUnderTest test("");
  const std::string id = test.open();
  const Told table = test.run(id, "import pandas as pd; pd.DataFrame({'a': [1, 2], 'b': [3, 4]})");
  INFO(table.err);
  REQUIRE(table.results.size() == 1);
  CHECK(contains(table.results[0].data.at("text/html"), "<th>a</th>"));
  CHECK(contains(table.results[0].data.at("text/plain"), "a  b\n0  1  3\n1  2  4"));
  const Told chart = test.run(id, "import matplotlib.pyplot as plt\nplt.plot([1, 2]);\nprint(1)");
  CHECK(std::string(chart.word()) == "ok");
  REQUIRE(chart.results.size() == 1);
  CHECK_FALSE(chart.results[0].is_main);
  CHECK(chart.results[0].data.at("image/png").starts_with("iVBORw0KGgo"));
  CHECK(test.run(id, "1").results.size() == 1);  // closed, so not shown again
  const std::string random =
      "import random, numpy, uuid, tempfile\n(random.random(), numpy.random.rand(), "
      "uuid.uuid4().hex, uuid.uuid1().hex, next(tempfile._get_candidate_names()))";
  const std::string other = test.open();
  const Told mine = test.run(id, random);
  const Told theirs = test.run(other, random);
  const std::string values = mine.value();
  REQUIRE(std::count(values.begin(), values.end(), ',') == 4);
  std::istringstream a(values);
  std::istringstream b(theirs.value());
  for (std::string one, two; std::getline(a, one, ',') && std::getline(b, two, ',');)
    CHECK(one != two);
}
