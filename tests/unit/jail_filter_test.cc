// What a compiled filter says, through our own evaluator: no kernel needed.
#include <linux/audit.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <set>

#include "jail/bpf.h"
#include "jail/syscalls.h"
#include "tests/support/sample_specs.h"

namespace {

using jail::ArgTest;
using jail::CompareOp;
using jail::SyscallAction;
using jail::SyscallFilter;

constexpr std::uint32_t kErrnoPerm = SECCOMP_RET_ERRNO | EPERM;

jail::BpfProgram compile(const SyscallFilter& filter) {
  const auto program = jail::compile_filter(filter);
  REQUIRE(program.has_value());
  return *program;
}

seccomp_data call(int number, std::uint64_t a0 = 0, std::uint64_t a1 = 0, std::uint64_t a2 = 0,
                  std::uint64_t a3 = 0) {
  seccomp_data data{};
  data.nr = number;
  data.arch = AUDIT_ARCH_X86_64;
  data.args[0] = a0;
  data.args[1] = a1;
  data.args[2] = a2;
  data.args[3] = a3;
  return data;
}

SyscallFilter one_rule(std::vector<ArgTest> tests, SyscallAction action = SyscallAction::kAllow,
                       std::uint16_t error = 0) {
  SyscallFilter filter;
  filter.rules.push_back({SYS_ioctl, action, error, std::move(tests)});
  return filter;
}

// Is ioctl allowed with this second argument, under one comparison on it?
bool allows(CompareOp op, std::uint64_t value, std::uint64_t given, std::uint64_t mask = ~0ULL) {
  const auto program = compile(one_rule({{1, op, mask, value}}));
  const std::uint32_t said = jail::run_filter(program, call(SYS_ioctl, 0, given));
  REQUIRE((said == SECCOMP_RET_ALLOW || said == SECCOMP_RET_USER_NOTIF));
  return said == SECCOMP_RET_ALLOW;
}

bool holds(CompareOp op, std::uint64_t a, std::uint64_t b) {
  switch (op) {
    case CompareOp::kEqual:
      return a == b;
    case CompareOp::kNotEqual:
      return a != b;
    case CompareOp::kLess:
      return a < b;
    case CompareOp::kLessEqual:
      return a <= b;
    case CompareOp::kGreater:
      return a > b;
    case CompareOp::kGreaterEqual:
      return a >= b;
  }
  return false;
}

}  // namespace

TEST_CASE("each action is what the program returns, and the fallback what is left") {
  SyscallFilter filter;
  filter.rules = {{SYS_read, SyscallAction::kAllow, 0, {}},
                  {SYS_clone3, SyscallAction::kErrno, ENOSYS, {}},
                  {SYS_ptrace, SyscallAction::kKill, 0, {}},
                  {SYS_socket, SyscallAction::kNotify, 0, {}}};
  const std::pair<SyscallAction, std::uint32_t> fallbacks[] = {
      {SyscallAction::kNotify, SECCOMP_RET_USER_NOTIF},
      {SyscallAction::kErrno, kErrnoPerm},
      {SyscallAction::kKill, SECCOMP_RET_KILL_PROCESS}};
  for (const auto& [fallback, word] : fallbacks) {
    filter.fallback = fallback;
    const auto program = compile(filter);
    CHECK(jail::run_filter(program, call(SYS_read)) == SECCOMP_RET_ALLOW);
    CHECK(jail::run_filter(program, call(SYS_clone3)) == (SECCOMP_RET_ERRNO | ENOSYS));
    CHECK(jail::run_filter(program, call(SYS_ptrace)) == SECCOMP_RET_KILL_PROCESS);
    CHECK(jail::run_filter(program, call(SYS_socket)) == SECCOMP_RET_USER_NOTIF);
    CHECK(jail::run_filter(program, call(SYS_write)) == word);
    CHECK(jail::run_filter(program, call(5999)) == word);
  }
}

TEST_CASE("every comparison holds over all 64 bits") {
  const std::uint64_t edges[] = {
      0,           1,           0x7fffffff,         0x80000000,         0xffffffff,
      0x100000000, 0x100000001, 0x7fffffffffffffff, 0x8000000000000000, ~0ULL};
  for (const auto op : {CompareOp::kEqual, CompareOp::kNotEqual, CompareOp::kLess,
                        CompareOp::kLessEqual, CompareOp::kGreater, CompareOp::kGreaterEqual}) {
    for (const std::uint64_t value : edges)
      for (const std::uint64_t given : edges) {
        INFO(static_cast<int>(op) << ": " << given << " against " << value);
        CHECK(allows(op, value, given) == holds(op, given, value));
      }
  }
}

TEST_CASE("a mask hides the bits it does not have") {
  constexpr std::uint64_t kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET;
  CHECK(allows(CompareOp::kEqual, 0, CLONE_VM | CLONE_FS | SIGCHLD, kNamespaces));
  CHECK_FALSE(allows(CompareOp::kEqual, 0, CLONE_VM | CLONE_NEWUSER, kNamespaces));
  CHECK(allows(CompareOp::kEqual, 0, 1ULL << 40U, 0xffffffff));
  CHECK_FALSE(allows(CompareOp::kEqual, 0, 1ULL << 40U, ~0ULL));
  CHECK(allows(CompareOp::kEqual, 5ULL << 32U, (5ULL << 32U) | 9, 0xffffffffULL << 32U));
  CHECK_FALSE(allows(CompareOp::kEqual, 5ULL << 32U, (6ULL << 32U) | 9, 0xffffffffULL << 32U));
}

TEST_CASE("tests of one rule are and-ed, rules of one number or-ed") {
  SyscallFilter filter =
      one_rule({{0, CompareOp::kEqual, ~0ULL, 1}, {1, CompareOp::kLess, ~0ULL, 9}});
  filter.rules.push_back({SYS_ioctl, SyscallAction::kAllow, 0, {{2, CompareOp::kEqual, ~0ULL, 7}}});
  const auto program = compile(filter);
  CHECK(jail::run_filter(program, call(SYS_ioctl, 1, 8, 0)) == SECCOMP_RET_ALLOW);
  CHECK(jail::run_filter(program, call(SYS_ioctl, 1, 9, 0)) == SECCOMP_RET_USER_NOTIF);
  CHECK(jail::run_filter(program, call(SYS_ioctl, 2, 8, 0)) == SECCOMP_RET_USER_NOTIF);
  CHECK(jail::run_filter(program, call(SYS_ioctl, 2, 8, 7)) == SECCOMP_RET_ALLOW);
}

TEST_CASE("another architecture's calls are killed, x32 ones too") {
  for (const auto fallback : {SyscallAction::kNotify, SyscallAction::kErrno}) {
    SyscallFilter filter = support::allow_all_but({"socket"});
    filter.fallback = fallback;
    const auto program = compile(filter);
    for (const std::uint32_t arch :
         {std::uint32_t{AUDIT_ARCH_I386}, std::uint32_t{AUDIT_ARCH_AARCH64}, 0U}) {
      seccomp_data data = call(SYS_read);
      data.arch = arch;
      CHECK(jail::run_filter(program, data) == SECCOMP_RET_KILL_PROCESS);
    }
    for (const unsigned number : {0x40000000U, 0x40000000U + SYS_read, 0x40000200U, 0x7fffffffU})
      CHECK(jail::run_filter(program, call(static_cast<int>(number))) == SECCOMP_RET_KILL_PROCESS);
    CHECK(jail::run_filter(program, call(0x3fffffff)) != SECCOMP_RET_ALLOW);
    CHECK(jail::run_filter(program, call(0x3fffffff)) != SECCOMP_RET_KILL_PROCESS);
    // syscall(-1): the kernel gives it -ENOSYS; a filter sees a number above all of x32.
    CHECK(jail::run_filter(program, call(-1)) != SECCOMP_RET_ALLOW);
  }
}

TEST_CASE("a rule with a malformed test is kPlan with the number") {
  for (const ArgTest& bad :
       {ArgTest{6, CompareOp::kEqual, ~0ULL, 0}, ArgTest{1, CompareOp::kLess, 0xff, 3}}) {
    const auto program = jail::compile_filter(one_rule({bad}));
    REQUIRE_FALSE(program.has_value());
    CHECK(program.error() == jail::SetupError{jail::Step::kPlan, SYS_ioctl, EINVAL});
  }
}

TEST_CASE("the same rule twice is one rule") {
  SyscallFilter filter = one_rule({});
  filter.rules.push_back(filter.rules[0]);
  CHECK(jail::run_filter(compile(filter), call(SYS_ioctl)) == SECCOMP_RET_ALLOW);
}

TEST_CASE("programs that go astray are killed, not followed") {
  const auto run = [](std::initializer_list<sock_filter> program) {
    const jail::BpfProgram p(program);
    return jail::run_filter(p, call(0));
  };
  CHECK(run({}) == SECCOMP_RET_KILL_PROCESS);
  CHECK(run({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64)}) == SECCOMP_RET_KILL_PROCESS);
  CHECK(run({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 61)}) == SECCOMP_RET_KILL_PROCESS);
  CHECK(run({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0xfffffffc)}) == SECCOMP_RET_KILL_PROCESS);
  CHECK(run({BPF_JUMP(BPF_JMP | BPF_JA, 0xffffffff, 0, 0)}) == SECCOMP_RET_KILL_PROCESS);
  CHECK(run({BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 255, 255)}) == SECCOMP_RET_KILL_PROCESS);
}

TEST_CASE("reachable calls are those that some arguments reach") {
  SyscallFilter filter = support::allow_only({"read", "write", "futex"});
  filter.rules.push_back(
      {SYS_ioctl, SyscallAction::kAllow, 0, {{1, CompareOp::kEqual, ~0ULL, 0x5401}}});
  filter.rules.push_back(
      {SYS_clone, SyscallAction::kAllow, 0, {{0, CompareOp::kEqual, CLONE_NEWUSER, 0}}});
  filter.rules.push_back({SYS_prctl, SyscallAction::kErrno, EINVAL, {}});
  filter.rules.push_back(
      {SYS_mmap,
       SyscallAction::kAllow,
       0,
       {{2, CompareOp::kLess, ~0ULL, 4}, {3, CompareOp::kGreater, ~0ULL, 1ULL << 40U}}});
  const auto program = compile(filter);
  const std::vector<int> reachable = jail::reachable_syscalls(program);
  CHECK(reachable ==
        std::vector<int>{SYS_read, SYS_write, SYS_mmap, SYS_ioctl, SYS_clone, SYS_futex});

  // The same by trying: every number with every pair of telling arguments.
  const std::uint64_t telling[] = {0, 1, 3, 0x5401, CLONE_NEWUSER, (1ULL << 40U) + 1, ~0ULL};
  std::set<int> tried;
  for (int number = 0; number <= jail::kLastSyscall; ++number)
    for (const std::uint64_t a : telling)
      for (const std::uint64_t b : telling)
        if (jail::run_filter(program, call(number, a, a, b, b)) == SECCOMP_RET_ALLOW ||
            jail::run_filter(program, call(number, a, b, a, b)) == SECCOMP_RET_ALLOW)
          tried.insert(number);
  CHECK(std::vector<int>(tried.begin(), tried.end()) == reachable);
}

TEST_CASE("a filter that allows everything reaches everything with a name") {
  const auto reachable = jail::reachable_syscalls(compile(support::allow_all_but({})));
  std::vector<int> named;
  for (int n = 0; n <= jail::kLastSyscall; ++n)
    if (jail::syscall_name(n).rfind("syscall ", 0) != 0) named.push_back(n);
  CHECK(reachable == named);
  CHECK(reachable.size() > 300);
}
