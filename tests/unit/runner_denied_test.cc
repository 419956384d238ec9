#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "runner/session/denied.h"
#include "runner/session/syscall_args.h"

using namespace runner;

namespace {

jail::Denied call(int number, std::array<std::uint64_t, 6> args, std::string text = {},
                  std::uint64_t count = 1) {
  jail::Denied denied;
  denied.number = number;
  denied.args = args;
  denied.text = std::move(text);
  denied.count = count;
  return denied;
}

constexpr std::uint64_t kAtFdCwd = static_cast<std::uint64_t>(-100);

}  // namespace

TEST_CASE("sockets by family and type") {
  CHECK(describe_args(call(SYS_socket, {AF_INET, SOCK_STREAM, 0})) == "AF_INET, SOCK_STREAM");
  CHECK(describe_args(call(SYS_socket, {AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0})) ==
        "AF_INET6, SOCK_DGRAM");
  CHECK(describe_args(call(SYS_socket, {AF_PACKET, SOCK_RAW, 3})) ==
        "AF_PACKET, SOCK_RAW, protocol 3");
  CHECK(describe_args(call(SYS_socket, {777, 9, 0})) == "777, 9");
}

TEST_CASE("clone says what was wanted, not what the C library adds") {
  CHECK(describe_args(call(SYS_clone, {CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD})) ==
        "SIGCHLD");
  CHECK(describe_args(call(SYS_clone, {CLONE_NEWUSER | SIGCHLD})) == "CLONE_NEWUSER|SIGCHLD");
  CHECK(describe_args(call(SYS_unshare, {CLONE_NEWNS | CLONE_NEWNET})) ==
        "CLONE_NEWNS|CLONE_NEWNET");
  CHECK(describe_args(call(SYS_fork, {})).empty());
}

TEST_CASE("paths come quoted and cannot act on a terminal") {
  CHECK(describe_args(call(SYS_openat, {kAtFdCwd, 1, O_WRONLY | O_CREAT, 0644}, "/etc/x")) ==
        "\"/etc/x\", O_WRONLY|O_CREAT");
  CHECK(describe_args(call(SYS_execve, {}, "/bin/\x1b[2Jsh")) == "\"/bin/\\x1b[2Jsh\"");
  CHECK(describe_args(call(SYS_chmod, {1, 04755}, "f")) == "\"f\", 04755");
}

TEST_CASE("other telling arguments") {
  CHECK(describe_args(call(SYS_prctl, {PR_SET_SECCOMP, 2})) == "PR_SET_SECCOMP");
  CHECK(describe_args(call(SYS_prctl, {4000})) == "4000");
  CHECK(describe_args(call(SYS_ioctl, {0, 0x5412})) == "TIOCSTI");
  CHECK(describe_args(call(SYS_ioctl, {0, 0xdeadbeef00005412})) ==
        "TIOCSTI");  // upper half is noise
  CHECK(describe_args(call(SYS_ioctl, {0, 0xc0ffee})) == "0xc0ffee");
  CHECK(describe_args(call(SYS_kill, {1, SIGKILL})) == "pid 1, SIGKILL");
  CHECK(describe_args(call(SYS_kill, {0xffffffff, 0})) == "pid -1, 0");
  CHECK(describe_args(call(SYS_mmap, {0, 4096, 7, 0x22})) == "PROT_READ|PROT_WRITE|PROT_EXEC");
  CHECK(describe_args(call(SYS_getppid, {1, 2, 3})).empty());
}

TEST_CASE("the line names call, count, rule and remedy") {
  const auto rule = [](const jail::Denied& denied) {
    return denied.number == SYS_socket ? DenyRule{"network", "[syscalls] allow = [\"@network\"]"}
                                       : DenyRule{"processes", ""};
  };
  const std::vector<jail::Denied> calls = {
      call(SYS_clone, {SIGCHLD}),
      call(SYS_socket, {AF_INET, SOCK_STREAM}, "", 2),
      call(SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC}, "", 1),
  };
  const auto entries = explain_denied(calls, rule);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].count == 3);
  CHECK(denied_line(entries, 4) ==
        "denied socket(AF_INET, SOCK_STREAM) x3: rule network; allowed by [syscalls] allow = "
        "[\"@network\"]; denied clone(SIGCHLD) x1: rule processes");
  CHECK(denied_line({}, 0).empty());
}

TEST_CASE("the line stays bounded") {
  std::vector<jail::Denied> calls;
  calls.reserve(64);
  for (int number = 0; number < 64; ++number) calls.push_back(call(number, {}));
  const auto entries = explain_denied(calls, [](const jail::Denied&) { return DenyRule{"r", ""}; });
  const std::string line = denied_line(entries, 1'000'000);
  CHECK(line.find("and 59 more kinds of call") != std::string::npos);
  CHECK(line.find("1000000 refused calls in all") != std::string::npos);
  CHECK(line.size() < 600);
}
