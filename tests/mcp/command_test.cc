// `sandglass mcp` as a client starts it.
#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <csignal>

#include "tests/support/run_binary.h"

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
  CHECK(ran.err == "sandglass: speaking MCP on stdin and stdout under the policy standard\n");
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
