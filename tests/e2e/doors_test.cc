// The server's door: sandglass probe --server against the built program; and the gate, which lets
// nobody in from beyond this machine before the sandbox has been tried.
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>

#include "runner/reach/door.h"
#include "runner/reach/door_probe.h"
#include "tests/e2e/e2e.h"
#include "tests/support/require.h"

using namespace e2e;
namespace fs = std::filesystem;
namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

const std::string kTokens =
    "# who may come in\nalice: 00000000000000000000000000000001\n"
    "bob:00000000000000000000000000000002\n";

// As a token file must be: its owner's alone.
void write_tokens(const support::TempDir& folder) {
  write(folder / "tokens", kTokens);
  fs::permissions(folder / "tokens", fs::perms::owner_read | fs::perms::owner_write);
}

std::unique_ptr<support::Child> serve(const Words& options, const std::string& program = "") {
  support::Call call;
  call.args = options;
  call.args.insert(call.args.begin(), "serve");
  call.patience = 200s;
  call.program = program;
  return std::make_unique<support::Child>(call, support::Child::Input::kHeld);
}

// "http://127.0.0.1:40123", from what the server says.
std::string url_of(support::Child& server) {
  if (!server.warns(" under the policy ", 60s)) FAIL("it does not serve: " << server.err());
  const std::size_t at = server.err().find("serving ") + 8;
  return server.err().substr(at, server.err().find(' ', at) - at);
}

json::object probe(const Words& options) {
  Words args{"probe", "--json"};
  args.insert(args.end(), options.begin(), options.end());
  const Ran ran = support::run_binary({.args = args, .patience = 150s});
  INFO(ran.out << ran.err);
  CHECK(ran.code == 0);
  return document(ran);
}

void check_all_blocked(const json::object& report) {
  for (const json::value& row : report.at("probes").as_array()) {
    INFO(json::serialize(row));
    CHECK(row.at("verdict") == "blocked");
  }
}

}  // namespace

TEST_CASE("each probe of the door is refused, twice, and its containers are gone") {
  require_jails();
  const support::TempDir folder;
  write_tokens(folder);
  const auto server = serve({"--listen", "127.0.0.1:0", "--token-file", folder / "tokens"});
  const std::string url = url_of(*server);
  for (int round = 0; round < 2; ++round) {
    const json::object report = probe({"--server", url, "--token-file", folder / "tokens"});
    CHECK(report.at("probes").as_array().size() == runner::reach::server_catalogue().size());
    check_all_blocked(report);
  }
  runner::reach::Door door(*runner::reach::parse_door(url),
                           {"00000000000000000000000000000001", "00000000000000000000000000000002"});
  for (const int client : {0, 1}) {
    const auto list = door.ask({.target = "/v1/containers", .client = client});
    CHECK(list.status == 200);
    const json::value document = json::parse(list.body);
    for (const json::value& container : document.at("data").as_array())
      CHECK(container.at("status") != "running");
  }
}

TEST_CASE("without tokens, on a unix socket, what needs two clients is named as not tried") {
  require_jails();
  const support::TempDir folder;
  const std::string url = "unix:" + (folder / "door");
  const auto server = serve({"--listen", url});
  CHECK(url_of(*server) == url);
  const json::object report = probe({"--server", url});
  check_all_blocked(report);
  CHECK(report.at("probes").as_array().size() > 45);
  REQUIRE(report.at("notes").as_array().size() == 2);
  CHECK(contains(json::serialize(report.at("notes")), "rebinding-host"));
  CHECK(contains(json::serialize(report.at("notes")), "other-clients-execute"));
}

TEST_CASE("probe --server refuses what it cannot try") {
  const auto refuse = [](const Words& options) {
    Words args{"probe"};
    args.insert(args.end(), options.begin(), options.end());
    const Ran ran = run(args);
    CHECK(ran.code == 125);
    return line(ran);
  };
  CHECK(contains(refuse({"--server", "https://x"}), "is no address of a server"));
  CHECK(contains(refuse({"--server", "unix:/nonexistent/door"}), "start it with sandglass serve"));
  CHECK(contains(refuse({"--server", "unix:/x", "--policy", "tight"}), "go without"));
  CHECK(contains(refuse({"--token-file", "/x"}), "--token-file goes with --server"));
  CHECK(contains(refuse({"--server", "unix:/x", "--token-file", "/nonexistent"}),
                 "cannot be read: ENOENT"));
}

TEST_CASE("beyond this machine the sandbox is tried before anybody is let in") {
  require_jails();
  const support::TempDir folder;
  write_tokens(folder);
  const Words listen{"--listen", "0.0.0.0:0", "--token-file", folder / "tokens"};
  const auto server = serve(listen);
  (void)url_of(*server);
  for (const char* policy : {"tight", "standard", "loose"}) {
    INFO(policy);
    CHECK(contains(server->err(), std::string("tried the policy ") + policy + ": "));
  }
  CHECK_FALSE(contains(server->err(), "nobody has tried"));

  Words unproven = listen;
  unproven.emplace_back("--serve-unproven");
  const auto other = serve(unproven);
  (void)url_of(*other);
  CHECK(contains(other->err(), "a sandbox that nobody has tried on this host"));
  CHECK_FALSE(contains(other->err(), "tried the policy"));

  const auto loopback = serve({"--listen", "127.0.0.1:0"});
  (void)url_of(*loopback);
  CHECK_FALSE(contains(loopback->err(), "tried the policy"));
}

TEST_CASE("a sandbox with a hole serves nobody beyond this machine") {
  require_jails();
  // An installation whose `tight` lets processes start, which the shipped one must not.
  const support::TempDir folder;
  const fs::path built = fs::path(support::sandglass_path()).parent_path().parent_path();
  for (const char* name : {"bin", "lib", "share/sandglass"}) fs::create_directories(folder / name);
  for (const char* program : {"sandglass", "sandglass-spawner"})
    fs::copy_file(built / "bin" / program, (folder / "bin/") + program);
  fs::copy(built / "lib/sandglass", folder / "lib/sandglass", fs::copy_options::recursive);
  fs::copy(built / "share/sandglass/policies", folder / "share/sandglass/policies",
           fs::copy_options::recursive);
  const std::string tight = folder / "share/sandglass/policies/tight.toml";
  std::string text = contents(tight);
  const std::size_t at = text.find("\"@base\"");
  REQUIRE(at != std::string::npos);
  write(tight, text.insert(at, "\"@processes\", "));
  write_tokens(folder);

  support::Call call;
  call.program = folder / "bin/sandglass";
  call.args = {"serve", "--listen", "0.0.0.0:0", "--token-file", folder / "tokens"};
  call.patience = 100s;
  const Ran ran = support::run_binary(call);
  INFO(ran.err);
  CHECK(ran.code == 125);
  CHECK(contains(ran.err, "under the policy tight code reached what must be blocked"));
  CHECK(contains(ran.err, "p25 fork"));
  CHECK(contains(ran.err, "sandglass probe --policy tight says more"));
  CHECK(contains(ran.err, "--serve-unproven serves all the same"));
  CHECK_FALSE(contains(ran.err, "serving "));
}
