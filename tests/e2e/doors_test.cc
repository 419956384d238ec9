// The server's door: sandglass probe --server against the built program; and the gate, which lets
// nobody in from beyond this machine before the sandbox has been tried.
#include <signal.h>
#include <unistd.h>

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

// Beyond loopback, by such a copy, until it ends.
Ran serve_strangers(const support::TempDir& folder) {
  write_tokens(folder);
  support::Call call;
  call.program = folder / "bin/sandglass";
  call.args = {"serve", "--listen", "0.0.0.0:0", "--token-file", folder / "tokens"};
  call.patience = 100s;
  Ran ran = support::run_binary(call);
  UNSCOPED_INFO(ran.err);
  return ran;
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
  runner::reach::Door door(*runner::reach::parse_door(url), {"00000000000000000000000000000001",
                                                             "00000000000000000000000000000002"});
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
  install(folder.path());
  const std::string tight = folder / "share/sandglass/policies/tight.toml";
  std::string text = contents(tight);
  const std::size_t at = text.find("\"@base\"");
  REQUIRE(at != std::string::npos);
  write(tight, text.insert(at, "\"@processes\", "));

  const Ran ran = serve_strangers(folder);
  CHECK(ran.code == 125);
  CHECK(contains(ran.err, "under the policy tight code reached what must be blocked"));
  CHECK(contains(ran.err, "p25 fork"));
  CHECK(contains(ran.err, "sandglass probe --policy tight says more"));
  CHECK(contains(ran.err, "--serve-unproven serves all the same"));
  CHECK_FALSE(contains(ran.err, "serving "));
}

TEST_CASE("nor does one whose probes give no answer") {
  require_jails();
  const support::TempDir folder;
  install(folder.path());
  const std::string helper = folder / "lib/sandglass/sandglass-reach";
  fs::remove(helper);
  fs::copy_file(support::payloads_path() + "/answers_nothing", helper);

  const Ran ran = serve_strangers(folder);
  CHECK(ran.code == 125);
  CHECK(contains(ran.err, "these probes gave no answer on this host: "));
  CHECK(contains(ran.err, "it exited with 0 without a verdict"));
  CHECK(contains(ran.err, "--serve-unproven serves all the same"));
  CHECK_FALSE(contains(ran.err, "serving "));
}

TEST_CASE("an interrupt while the sandbox is tried serves nobody, and nothing is left") {
  require_jails();
  const support::TempDir folder;
  write_tokens(folder);
  const auto server = serve({"--listen", "0.0.0.0:0", "--token-file", folder / "tokens"});
  const pid_t pid = server->pid();
  REQUIRE(comes_to_outside(pid));
  server->signal(SIGTERM);
  const Ran ran = server->finish();
  CHECK(ran.code == 125);
  CHECK(contains(ran.err, "interrupted; nothing is left behind\n"));
  CHECK_FALSE(contains(ran.err, "serving "));
  CHECK_FALSE(has_outside(pid));
}

TEST_CASE("probe --server that is interrupted takes its containers and its canary away") {
  require_jails();
  const support::TempDir folder;
  const std::string url = "unix:" + (folder / "door");
  const auto server = serve({"--listen", url});
  REQUIRE(url_of(*server) == url);
  support::Child client({.args = {"probe", "--server", url}, .patience = 100s});
  const std::string mine = "sandglass-door-" + std::to_string(client.pid()) + "-";
  const auto has_canary = [&mine] {
    for (const auto& entry : fs::directory_iterator("/tmp"))
      if (entry.path().filename().string().starts_with(mine)) return true;
    return false;
  };
  runner::reach::Door door(*runner::reach::parse_door(url), {});
  const auto running = [&door] {
    std::size_t n = 0;
    const auto list = door.ask({.target = "/v1/containers"});
    const json::value document = json::parse(list.body);
    for (const json::value& one : document.at("data").as_array())
      n += one.at("status") == "running" ? 1U : 0U;
    return n;
  };
  for (int i = 0; i < 2000 && running() == 0; ++i) ::usleep(10'000);
  REQUIRE(running() > 0);
  CHECK(has_canary());
  client.signal(SIGINT);
  const Ran ran = client.finish();
  CHECK(ran.code == 125);
  CHECK(ran.err == "sandglass: interrupted; nothing is left behind\n");
  CHECK(running() == 0);
  CHECK_FALSE(has_canary());
}
