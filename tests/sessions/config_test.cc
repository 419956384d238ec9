// `serve` by a settings file, and what it says when it has begun.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "tests/sessions/served.h"
#include "tests/sessions/sessions_under_test.h"
#include "tests/support/require.h"
#include "tests/support/temp_dir.h"

using namespace sessions_test;
using namespace std::chrono_literals;

namespace {

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  ::chmod(path.c_str(), 0600);
}

std::string serve_fails(const std::string& settings, std::vector<std::string> more = {}) {
  const support::TempDir folder;
  write_file(folder / "s.toml", settings);
  support::Call call;
  call.args = {"serve", "--config", folder / "s.toml"};
  call.args.insert(call.args.end(), more.begin(), more.end());
  const support::Ran ran = support::run_binary(call);
  CHECK(ran.code == 125);
  CHECK(ran.out.empty());
  const std::size_t at = ran.err.find("s.toml");
  return at == std::string::npos ? ran.err : ran.err.substr(at);
}

}  // namespace

TEST_CASE("serve takes its options from a file, and the command line wins") {
  require_jails();
  const support::TempDir folder;
  write_file(folder / "tokens", "ann:0123456789abcdef0123456789abcdef\n");
  write_file(folder / "s.toml", "listen = \"127.0.0.1:1\"\ntoken_file = \"" + (folder / "tokens") +
                                    "\"\npolicy = \"tight\"\nallow_host = [\"sandbox.test\"]\n");
  Served served({"--config", folder / "s.toml", "--listen", "127.0.0.1:0"});
  CHECK(served.child().err().find(" under the policy tight\n") != std::string::npos);
  Client client = served.client();
  CHECK(client.call("GET", "/v1/containers").status == 401);
  client.send(
      "GET /v1/policies HTTP/1.1\r\nHost: sandbox.test\r\n"
      "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n\r\n");
  CHECK(client.read_response().status == 200);
}

TEST_CASE("the command that serve prints works as it stands") {
  require_jails();
  support::require_program("curl");
  const support::TempDir folder;
  write_file(folder / "tokens", "ann:0123456789abcdef0123456789abcdef\n");
  Served served({"--listen", "127.0.0.1:0", "--token-file", folder / "tokens"});
  REQUIRE(served.child().warns("}'\n", 20s));
  const std::string& said = served.child().err();
  const std::size_t at = said.find("try: ") + 5;
  const std::string command = "TOKEN=0123456789abcdef0123456789abcdef\n" +
                              said.substr(at, said.find('\n', at) - at) + " >" + (folder / "reply");
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c): a shell is the point
  std::ifstream reply(folder / "reply");
  const Json document = boost::json::parse(std::string(std::istreambuf_iterator<char>(reply), {}));
  CHECK(document.at("outcome") == "ok");
  CHECK(document.at("results").at(0).at("text") == "42");
}

TEST_CASE("a settings file that is wrong is refused with the place") {
  CHECK(serve_fails("listn = \"127.0.0.1:0\"\n") ==
        "s.toml:1:1: listn: unknown key; did you mean \"listen\"?; see sandglass serve --help\n");
  CHECK(serve_fails("\nlisten = [\"127.0.0.1:0\"]\n") ==
        "s.toml:2:1: listen: takes one value, not a list; see sandglass serve --help\n");
  CHECK(serve_fails("policy = true\n") ==
        "s.toml:1:1: policy: must be a value in quotes; see sandglass serve --help\n");
  CHECK(serve_fails("config = \"x\"\n").starts_with("s.toml:1:1: config: unknown key"));
  CHECK(serve_fails("policy = \"tigt\"\nlisten = \"127.0.0.1:0\"\n").find("tigt") !=
        std::string::npos);
  const std::string twice =
      serve_fails("trace_sync = \"none\"\ntrace-sync = \"always\"\ntrace = \"/nowhere\"\n");
  CHECK(twice.starts_with("s.toml:1:1: trace_sync: is the same setting as "));
  CHECK(twice.find("s.toml:2:1: trace-sync; remove one of the two; see") != std::string::npos);
  CHECK(serve_fails("= 3\n").starts_with("s.toml:1:1: "));
}
