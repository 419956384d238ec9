#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "policies/load.h"
#include "runner/session/rules.h"

using namespace runner;

namespace {

DenyRule rule(const std::string& policy_name, int number, std::array<std::uint64_t, 6> args = {}) {
  static const auto library = policies::Library::open(SANDGLASS_POLICIES);
  REQUIRE(library);
  const auto policy = library->find(policy_name);
  REQUIRE(policy);
  jail::Denied call;
  call.number = number;
  call.args = args;
  return rule_for(*policy, library->syscalls(), call);
}

}  // namespace

TEST_CASE("a refusal names the set that would allow these very arguments") {
  const DenyRule inet = rule("tight", SYS_socket, {AF_INET, SOCK_STREAM, 0});
  const DenyRule local = rule("tight", SYS_socket, {AF_UNIX, SOCK_STREAM, 0});
  CHECK(inet.rule != local.rule);
  CHECK(inet.allow_with ==
        "[syscalls] allow = [\"@inet\"] and [unsafe] inet_sockets = \"your reason\"");
  CHECK(local.allow_with == "[syscalls] allow = [\"@local_sockets\"]");
  CHECK(rule("tight", SYS_clone, {SIGCHLD}).allow_with == "[syscalls] allow = [\"@processes\"]");
}

TEST_CASE("what no policy may allow says so") {
  CHECK(rule("loose", SYS_bpf).rule == "never");
  CHECK(rule("loose", SYS_bpf).allow_with.empty());
  CHECK(rule("standard", SYS_clone, {CLONE_NEWUSER | SIGCHLD}).allow_with.empty());
  CHECK(rule("standard", 999).rule == "unknown");
}
