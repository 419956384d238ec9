// `sandglass mcp` as a client starts it.
#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>

#include "tests/support/run_binary.h"
#include "tests/support/temp_dir.h"

namespace json = boost::json;
using support::run_binary;

namespace {

const std::string kInitialize =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})"
    "\n";
const std::string kSum =
    R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evaluate_expression",)"
    R"("arguments":{"expression":"38.50 + 41.00"}}})"
    "\n";

}  // namespace

TEST_CASE("mcp: stdout holds messages and nothing else, and it ends with stdin") {
  const support::Ran ran = run_binary({.args = {"mcp"}, .input = kInitialize + kSum});
  CHECK(ran.code == 0);
  REQUIRE(std::count(ran.out.begin(), ran.out.end(), '\n') == 2);
  const std::size_t end = ran.out.find('\n');
  const json::value begun = json::parse(ran.out.substr(0, end));
  CHECK(begun.at("result").at("protocolVersion") == "2025-11-25");
  CHECK(begun.at("result").at("serverInfo").at("name") == "sandglass");
  const json::value sum = json::parse(ran.out.substr(end + 1));
  CHECK(sum.at("result").at("structuredContent").at("value") == "79.5");
  CHECK(ran.err.find("sandglass: no trace is kept; --trace DIR keeps one\n") != std::string::npos);
  CHECK(
      ran.err.ends_with("sandglass: speaking MCP on stdin and stdout under the policy standard\n"));
}

TEST_CASE("mcp: what weakens its policy stands on stderr, and nothing of other policies") {
  const support::TempDir folder;
  const std::string policy = folder / "weak.toml";
  std::ofstream(policy) << "name = \"weak\"\nextends = \"standard\"\nwhy = \"a test\"\n"
                           "[syscalls]\nallow = [\"@inet\"]\n"
                           "[unsafe]\ninet_sockets = \"no network is there\"\n";
  const support::Ran ran = run_binary({.args = {"mcp", "--policy", policy}, .input = kInitialize});
  CHECK(ran.code == 0);
  const std::string line =
      "sandglass: policy weak is weakened: inet_sockets: no network is there\n";
  CHECK(ran.err.find(line) != std::string::npos);
  CHECK(ran.err.find("policy weak is weakened: writable_code: ") !=
        std::string::npos);  // inherited
  for (std::size_t at = ran.err.find(" is weakened"); at != std::string::npos;
       at = ran.err.find(" is weakened", at + 1))
    CHECK(ran.err.substr(at - 11, 11) == "policy weak");
}

TEST_CASE("mcp: with --trace each execution is a line there before its answer") {
  const support::TempDir folder;
  const std::string code =
      R"({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"execute_code",)"
      R"("arguments":{"code":"6 * 7"}}})"
      "\n";
  support::Child child({.args = {"mcp", "--trace", folder / "t"}}, support::Child::Input::kHeld);
  child.write(kInitialize + kSum + code);
  REQUIRE(child.says("\"id\":3,"));
  std::ifstream file(folder / "t/trace-000001.jsonl");
  std::vector<json::value> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].at("kind") == "evaluate");
  CHECK(lines[1].at("code") == "6 * 7");
  CHECK(lines[1].at("results").at(0).at("data").at("text/plain").at("text") == "42");
  CHECK(child.finish().code == 0);
  CHECK(run_binary({.args = {"mcp", "--trace-sync", "none"}}).err.find("mcp: --trace-* and") !=
        std::string::npos);
}

TEST_CASE("mcp: under a policy that runs nothing, arithmetic is left") {
  const std::string code =
      R"({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"execute_code",)"
      R"("arguments":{"code":"1"}}})"
      "\n";
  support::Child child({.args = {"mcp", "--policy", "restricted"}}, support::Child::Input::kHeld);
  child.write(kInitialize + kSum + code);
  REQUIRE(child.says("\"id\":3,"));
  const support::Ran ran = child.finish();
  CHECK(ran.code == 0);
  CHECK(ran.out.find("\"value\":\"79.5\"") != std::string::npos);
  CHECK(ran.out.find("No code runs under this server's policy") != std::string::npos);
}

TEST_CASE("mcp: asked to end, it ends well") {
  support::Child child({.args = {"mcp"}}, support::Child::Input::kHeld);
  child.write(kInitialize);
  REQUIRE(child.says("protocolVersion"));
  child.signal(SIGTERM);
  CHECK(child.finish().code == 0);
}

TEST_CASE("mcp: what it cannot begin with is told on stderr") {
  const support::Ran unknown = run_binary({.args = {"mcp", "--policy", "no-such"}});
  CHECK(unknown.code == 125);
  CHECK(unknown.out.empty());
  CHECK(unknown.err.find("no-such") != std::string::npos);
  CHECK(run_binary({.args = {"mcp", "--listen", "x"}}).code == 125);
  CHECK(run_binary({.args = {"mcp", "--help"}}).out.find("--policy") != std::string::npos);
}
