// Calls the filter refuses: what the payload gets, what the caller is told.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/support/jail_client.h"
#include "tests/support/require.h"

namespace {

using support::base_spec;
using support::Run;
using support::Spawner;
using Told = std::map<std::string, std::string>;

void require_jails() {
  support::require(support::Feature::kUserNamespaces);
  support::require(support::Feature::kSeccompNotify);
}

}  // namespace

TEST_CASE("denied calls give EPERM and are reported by kind, with counts and paths") {
  require_jails();
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.filter = support::allow_all_but({"socket", "mkdir", "connect", "ptrace"});
  const Run run = spawner.run(spec, {"makes_denied_calls"});
  CHECK(run.out ==
        "inet EPERM\ninet EPERM\ninet6 EPERM\nmkdir EPERM\nmkdir_null EPERM\nconnect EPERM\n"
        "nameless ENOSYS\nptrace EPERM\n");
  REQUIRE(run.denied.size() == 7);
  const auto& d = run.denied;
  CHECK(d[0].number == SYS_socket);
  CHECK(d[0].args[0] == AF_INET);
  CHECK(d[0].args[1] == SOCK_STREAM);
  CHECK(d[0].count == 2);
  CHECK(d[1].args[0] == AF_INET6);
  CHECK(d[1].count == 1);
  CHECK(d[2].number == SYS_mkdir);
  CHECK(d[2].text == "/mnt/data/folder");
  CHECK(d[3].number == SYS_mkdir);
  CHECK(d[3].text.empty());  // a null pointer reads as nothing
  CHECK(d[4].number == SYS_connect);
  CHECK(d[4].text == std::string("\1\0/mnt/data/s", 13));
  CHECK(d[5].number == 599);
  CHECK(d[5].args[2] == 3);
  CHECK(d[6].number == SYS_ptrace);
  CHECK(run.ended.denied_total == 8);
  CHECK_FALSE(run.ended.denied_throttled);
}

TEST_CASE("a filter without execve lets the first pass and reports the second") {
  require_jails();
  Spawner spawner;
  jail::Spec spec = base_spec();
  spec.filter = support::allow_all_but({"execve", "execveat"});
  const Run run = spawner.run(spec, {"execs_again", "/payloads/exits_with"});
  REQUIRE_FALSE(run.error.has_value());
  CHECK(run.out == "exec EPERM\n");
  REQUIRE(run.denied.size() == 1);
  CHECK(run.denied[0].number == SYS_execve);
  CHECK(run.denied[0].count == 1);
  CHECK(run.denied[0].text == "/payloads/exits_with");
  // The first one is not a refusal and is not counted as one.
  const Run first = spawner.run(spec, {"exits_with", "3"});
  CHECK(first.denied.empty());
  CHECK(first.ended.denied_total == 0);
  CHECK(WEXITSTATUS(first.ended.wait_status) == 3);
}

TEST_CASE("the first execve passes whatever the fallback and the rules say of it") {
  require_jails();
  Spawner spawner;
  for (const auto action : {jail::SyscallAction::kErrno, jail::SyscallAction::kKill}) {
    jail::Spec spec = base_spec();
    spec.filter = support::allow_all_but({"execve"});
    spec.filter.rules.push_back({SYS_execve, action, EACCES, {}});
    Run run = spawner.run(spec, {"execs_again", "/payloads/exits_with"});
    CHECK_FALSE(run.error.has_value());
    CHECK(run.out == "exec EPERM\n");
    spec.filter = support::allow_all_but({"execve", "socket"});
    spec.filter.fallback = action;
    run = spawner.run(spec, {"execs_again", "/payloads/exits_with"});
    CHECK_FALSE(run.error.has_value());
    CHECK(run.out == "exec EPERM\n");
  }
}

TEST_CASE("a filter that allows execve allows it again") {
  require_jails();
  Spawner spawner;
  const Run run = spawner.run(base_spec(), {"execs_again", "/payloads/exits_with"});
  CHECK(run.out.empty());
  CHECK(run.ended.wait_status == 0);
}

TEST_CASE("errno and kill rules do what they say, unreported") {
  require_jails();
  Spawner spawner;
  jail::Spec spec = base_spec();
  spec.filter = support::allow_all_but({"socket", "mkdir", "connect", "ptrace"});
  spec.filter.rules.push_back({SYS_socket, jail::SyscallAction::kErrno, EAFNOSUPPORT, {}});
  spec.filter.rules.push_back({SYS_ptrace, jail::SyscallAction::kKill, 0, {}});
  const Run run = spawner.run(spec, {"makes_denied_calls"});
  Told told = support::told(run.out);
  CHECK(told["inet"] == "EAFNOSUPPORT");
  CHECK(told.count("ptrace") == 0);
  CHECK(run.ended.exited);
  REQUIRE(WIFSIGNALED(run.ended.wait_status));
  CHECK(WTERMSIG(run.ended.wait_status) == SIGSYS);
  for (const jail::Denied& d : run.denied) CHECK(d.number != SYS_socket);
}

TEST_CASE("calls of i386 and x32 kill") {
  require_jails();
  Spawner spawner;
  for (const char* payload : {"calls_as_x32", "calls_as_i386"}) {
    const Run run = spawner.run(base_spec(), {payload});
    INFO(payload);
    REQUIRE_FALSE(run.error.has_value());
    const int status = run.ended.wait_status;
    REQUIRE(WIFSIGNALED(status));
    // A kernel without i386 emulation faults at int 0x80 before any filter.
    CHECK((WTERMSIG(status) == SIGSYS ||
           (std::string(payload) == "calls_as_i386" && WTERMSIG(status) == SIGSEGV)));
  }
}

TEST_CASE("more kinds of denied call than are kept are still counted") {
  require_jails();
  Spawner spawner;
  jail::Spec spec = base_spec();
  spec.filter = support::allow_only(
      {"read", "write", "exit_group", "execve", "brk", "mmap", "munmap", "mprotect", "arch_prctl",
       "fstat", "set_tid_address", "set_robust_list", "rseq", "prlimit64", "readlink", "getrandom",
       "newfstatat", "readlinkat", "sigaltstack"});  // AddressSanitizer's, before execve
  const Run run = spawner.run(spec, {"makes_many_kinds_of_calls"});
  CHECK(support::told(run.out)["refused"] == "300");
  CHECK(run.denied.size() == 64);
  CHECK(run.ended.denied_total == 300);
}
