// sandglass run and exec under policies that start no process.

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/eval/program.h"
#include "tests/support/temp_dir.h"

using eval_test::How;
using eval_test::Ran;
using eval_test::sandglass;

namespace {

namespace json = boost::json;

std::string calc(const support::TempDir& folder) {
  std::ofstream(folder / "calc.toml")
      << "name = \"calc\"\nextends = \"restricted\"\nwhy = \"roots\"\n"
         "[arithmetic]\nfunctions = [\"sqrt\"]\n";
  return folder / "calc.toml";
}

json::object document(const Ran& ran) { return json::parse(ran.out).as_object(); }

}  // namespace

TEST_CASE("run evaluates -c, a file and stdin") {
  const support::TempDir folder;
  std::ofstream(folder / "sum.py") << "38.50 + 41.00\n";
  CHECK(sandglass({"run", "--policy", "restricted", "-c", "1+1"}).out == "2\n");
  CHECK(sandglass({"run", "--policy=restricted", folder / "sum.py"}).out == "79.5\n");
  CHECK(sandglass({"run", "--policy", "restricted", "-"}, {"2*3"}).out == "6\n");
  CHECK(sandglass({"run", "--policy", "restricted", "--lang", "arithmetic", "-c", "7"}).out ==
        "7\n");
  const Ran refused = sandglass({"run", "--policy", "restricted", "-c", "print(1)"});
  CHECK(refused.err == "sandglass: refused: Call is not on the arithmetic whitelist\n");
  CHECK(refused.code == 4);
  CHECK(sandglass({"run", "--policy", "restricted", "-c", "NONE"}).code == 3);
}

TEST_CASE("the outcome has the shape of every outcome, and the verdict") {
  const Ran ok = sandglass({"run", "--policy", "restricted", "--json", "-c", "1/1e400"});
  CHECK(ok.code == 0);
  CHECK(ok.out ==
        "{\"outcome\":\"ok\",\"ending\":\"ok\",\"exit_code\":0,\"status\":null,\"signal\":null,"
        "\"text\":\"\","
        "\"state_preserved\":false,\"limit\":null,\"truncated\":{\"stdout\":false,\"stderr\":false}"
        ",\"produced\":{\"stdout\":4,\"stderr\":0},\"usage\":{\"wall_ms\":0,\"cpu_ms\":0,"
        "\"peak_memory_bytes\":null,\"peak_memory_from\":null},\"denied\":[],\"denied_total\":0,"
        "\"denied_throttled\":false,\"stdout\":\"0.0\\n\",\"stderr\":\"\",\"files\":null,"
        "\"error\":null,\"policy\":\"restricted\",\"language\":\"arithmetic\",\"limits\":{},"
        "\"verdict\":{\"value\":\"0.0\",\"note\":\"an intermediate was infinite\"}}\n");
  const Ran refused = sandglass({"run", "--policy", "restricted", "--json", "-c", "1/0"});
  CHECK(refused.code == 4);
  CHECK(document(refused).at("outcome") == "refused");
  CHECK(document(refused).at("text") == "division by zero");
  CHECK(document(refused).at("verdict").at("refused") == "arithmetic");
  const Ran declined = sandglass({"run", "--policy", "restricted", "--json", "-c", "none"});
  CHECK(declined.code == 3);
  CHECK(document(declined).at("outcome") == "declined");
  CHECK(document(declined).at("exit_code") == 3);
}

TEST_CASE("a policy of one's own that extends restricted behaves so") {
  const support::TempDir folder;
  const Ran ran = sandglass({"run", "--policy", calc(folder), "--json", "-c", "sqrt(9)"});
  CHECK(document(ran).at("stdout") == "3.0\n");
  CHECK(document(ran).at("policy") == "calc");
}

TEST_CASE("no process is started, so none is needed") {
  const support::TempDir folder;
  const How alone{"", eval_test::forbid_processes};
  CHECK(sandglass({"run", "--policy", "restricted", "-c", "1+1"}, alone).out == "2\n");
  CHECK(sandglass({"run", "--policy", calc(folder), "-c", "sqrt(9)"}, alone).out == "3.0\n");
  CHECK(sandglass({"eval", "1+1"}, alone).out == "2\n");
  CHECK(sandglass({"run", "-c", "1+1"}, alone).code != 0);  // here one is
}

TEST_CASE("options for a process are refused by name") {
  const std::vector<std::vector<std::string>> all = {
      {"--in", "x"},         {"--out", "x"},       {"--env", "A=1"},        {"--ro-bind", "/usr"},
      {"--memory", "64M"},   {"--cpu-time", "1s"}, {"--wall-time", "1s"},   {"--processes", "2"},
      {"--file-size", "1M"}, {"--output", "1M"},   {"--workdir-size", "1M"}};
  for (const auto& option : all) {
    const Ran ran =
        sandglass({"run", "--policy", "restricted", "-c", "1", option.front(), option.back()});
    CHECK(ran.err == "sandglass: run: " + option.front() +
                         " means nothing under the policy \"restricted\", which evaluates "
                         "arithmetic and starts no process; leave it out, or use --policy "
                         "standard\n");
    CHECK(ran.out.empty());
    CHECK(ran.code == 125);
  }
  const Ran language = sandglass({"run", "--policy", "restricted", "--lang", "python", "-c", "1"});
  CHECK(language.err.starts_with("sandglass: run: --lang python means nothing"));
  CHECK(language.code == 125);
  const Ran args = sandglass({"run", "--policy", "restricted", "-c", "1", "--", "a"});
  CHECK(args.err.starts_with("sandglass: run: -- a means nothing"));
  CHECK(sandglass({"run", "--policy", "restricted"}).err ==
        "sandglass: run: no code; give -c CODE, a file, or - for stdin\n");
}

TEST_CASE("exec has nothing to run there") {
  const Ran ran = sandglass({"exec", "--policy", "restricted", "--", "/bin/true"});
  CHECK(ran.err ==
        "sandglass: the policy \"restricted\" starts no process; it evaluates arithmetic only: use "
        "sandglass eval, or --policy standard\n");
  CHECK(ran.code == 125);
}
