// The evaluator against the kernel: the same filter, the same calls, the same answers. The calls
// are harmless whatever the answer; a denied one is told by an errno that the call never gives.
#include <fcntl.h>
#include <linux/audit.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>

#include "jail/bpf.h"
#include "tests/support/sample_specs.h"

namespace {

using jail::CompareOp;
using jail::SyscallAction;

constexpr std::uint16_t kTold = 77;       // EBADFD, by a rule
constexpr std::uint16_t kFellBack = 119;  // ENAVAIL, by the fallback

struct Call {
  long number;
  unsigned long a0, a1, a2;
};

jail::SyscallFilter filter_under_test() {
  jail::SyscallFilter filter = support::allow_only({"exit_group", "getuid", "write"});
  filter.fallback = SyscallAction::kErrno;
  filter.fallback_error = kFellBack;
  filter.rules.push_back({SYS_getppid, SyscallAction::kErrno, kTold, {}});
  filter.rules.push_back({SYS_dup, SyscallAction::kAllow, 0, {{0, CompareOp::kLess, ~0ULL, 3}}});
  filter.rules.push_back(
      {SYS_fcntl, SyscallAction::kAllow, 0, {{1, CompareOp::kEqual, 0xffff, F_GETFD}}});
  filter.rules.push_back({SYS_lseek,
                          SyscallAction::kAllow,
                          0,
                          {{1, CompareOp::kGreaterEqual, ~0ULL, 1ULL << 33U},
                           {2, CompareOp::kEqual, ~0ULL, SEEK_SET}}});
  filter.rules.push_back({SYS_alarm, SyscallAction::kKill, 0, {}});
  return filter;
}

const std::vector<Call>& calls() {
  static const std::vector<Call> kCalls = {
      {SYS_getuid, 0, 0, 0},
      {SYS_getppid, 0, 0, 0},
      {SYS_getpid, 0, 0, 0},
      {SYS_dup, 2, 0, 0},
      {SYS_dup, 3, 0, 0},
      {SYS_dup, 1UL << 32U, 0, 0},
      {SYS_fcntl, 0, F_GETFD, 0},
      {SYS_fcntl, 0, F_GETFD | 0x10000, 0},
      {SYS_fcntl, 0, F_GETFL, 0},
      {SYS_lseek, 0, 1UL << 33U, SEEK_SET},
      {SYS_lseek, 0, (1UL << 33U) - 1, SEEK_SET},
      {SYS_lseek, 0, 1UL << 34U, SEEK_CUR},
      {SYS_lseek, 0, ~0UL, SEEK_SET},
      {599, 0, 0, 0},
      {0x3fffffff, 0, 0, 0},
      {SYS_alarm, 0, 0, 0},
      {0x40000000L + SYS_getuid, 0, 0, 0},
      {0x40000000L + 514, 0, 0, 0},
  };
  return kCalls;
}

// What the kernel said, in the words of SECCOMP_RET_*. ALLOW: anything but our two errnos.
std::uint32_t ask_kernel(const jail::BpfProgram& program, const Call& c) {
  const pid_t child = ::fork();
  if (child == 0) {
    const sock_fprog fprog{static_cast<unsigned short>(program.size()),
                           const_cast<sock_filter*>(program.data())};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog) != 0) std::raise(SIGABRT);
    const long rc = ::syscall(c.number, c.a0, c.a1, c.a2);
    const int error = rc == -1 ? errno : 0;
    ::syscall(SYS_exit_group, error == kTold || error == kFellBack ? error : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) {
    CHECK(WTERMSIG(status) == SIGSYS);
    return SECCOMP_RET_KILL_PROCESS;
  }
  const auto code = static_cast<std::uint32_t>(WEXITSTATUS(status));
  return code == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | code;
}

}  // namespace

TEST_CASE("the evaluator says what the kernel says") {
  const auto program = jail::compile_filter(filter_under_test());
  REQUIRE(program.has_value());
  for (const Call& c : calls()) {
    seccomp_data data{};
    data.nr = static_cast<int>(c.number);
    data.arch = AUDIT_ARCH_X86_64;
    data.args[0] = c.a0;
    data.args[1] = c.a1;
    data.args[2] = c.a2;
    INFO("call " << c.number << " " << c.a0 << " " << c.a1 << " " << c.a2);
    CHECK(ask_kernel(*program, c) == jail::run_filter(*program, data));
  }
}

TEST_CASE("the kernel takes the largest filter we are likely to write") {
  const auto program = jail::compile_filter(support::allow_all_but({"ptrace"}));
  REQUIRE(program.has_value());
  CHECK(ask_kernel(*program, {SYS_getpid, 0, 0, 0}) == SECCOMP_RET_ALLOW);
}
