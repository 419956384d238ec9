// The compiler of filters against libseccomp, over the shipped policies and over random rules: the
// two programs must give the same answer to the same call.
#include <linux/audit.h>

#include <catch2/catch.hpp>
#include <random>

#include "jail/bpf.h"
#include "jail/syscalls.h"
#include "policies/compile.h"
#include "policies/load.h"
#include "tests/support/reference_filter.h"

namespace {

using jail::BpfProgram;
using jail::CompareOp;
using jail::SyscallAction;
using jail::SyscallFilter;
using jail::SyscallRule;

seccomp_data call_of(int number, std::uint32_t arch, std::uint64_t value, unsigned arg) {
  seccomp_data call{};
  call.nr = number;
  call.arch = arch;
  for (auto& a : call.args) a = 0;
  call.args[arg] = value;
  return call;
}

std::vector<std::uint64_t> interesting(const SyscallFilter& filter) {
  std::vector<std::uint64_t> values{0, 1, 2, 0x7fffffff, 0xffffffff, 0x100000000, ~0ULL};
  for (const SyscallRule& rule : filter.rules)
    for (const jail::ArgTest& t : rule.tests)
      for (const std::uint64_t v : {t.value, t.value + 1, t.value - 1, t.value ^ (t.mask & -t.mask),
                                    t.value | 0x100000000, ~t.mask | t.value})
        values.push_back(v);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

int count_differences(const BpfProgram& ours, const BpfProgram& theirs,
                      const std::vector<std::uint64_t>& values) {
  int differences = 0;
  for (int number = -1; number <= 600; ++number)
    for (unsigned arg = 0; arg < 6; ++arg)
      for (const std::uint64_t v : values) {
        const seccomp_data call = call_of(number, AUDIT_ARCH_X86_64, v, arg);
        if (jail::run_filter(ours, call) != jail::run_filter(theirs, call)) ++differences;
      }
  for (const std::uint32_t arch : {std::uint32_t{AUDIT_ARCH_I386}, std::uint32_t{0}})
    for (int number = 0; number < 400; ++number) {
      const seccomp_data call = call_of(number, arch, 0, 0);
      if (jail::run_filter(ours, call) != jail::run_filter(theirs, call)) ++differences;
    }
  return differences;
}

SyscallFilter random_filter(std::mt19937& random) {
  SyscallFilter filter;
  const auto pick = [&random](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const std::uint64_t numbers[] = {0, 1, 5, 0x80000000, 0xffffffff, 0x1ffffffff, 0x700000007};
  for (int i = 0; i < 40; ++i) {
    SyscallRule rule;
    // Distinct numbers: libseccomp merges rules of one number by its own order of precedence.
    rule.number = i * 8 + static_cast<int>(pick(8));
    rule.action = pick(4) == 0 ? SyscallAction::kErrno : SyscallAction::kAllow;
    rule.error = 38;
    const unsigned first = pick(6);
    for (std::uint32_t k = 0, n = pick(3); k < n; ++k) {
      jail::ArgTest t;
      t.arg = static_cast<std::uint8_t>((first + k) % 6);
      t.op = static_cast<CompareOp>(pick(6));
      t.value = numbers[pick(7)];
      if (t.op == CompareOp::kEqual && pick(2) == 0) {
        t.mask = numbers[pick(7)];
        t.value &= t.mask;
      }
      rule.tests.push_back(t);
    }
    filter.rules.push_back(rule);
  }
  return filter;
}

}  // namespace

TEST_CASE("every shipped policy compiles to what libseccomp makes of it") {
  const auto library = policies::Library::open(SANDGLASS_POLICIES);
  REQUIRE(library);
  for (const char* name : {"tight", "standard", "loose"}) {
    INFO(name);
    const auto policy = library->find(name);
    REQUIRE(policy);
    const auto spec = policies::to_spec(*policy, library->syscalls(), {});
    REQUIRE(spec);
    const auto ours = jail::compile_filter(spec->filter);
    const auto theirs = support::compile_by_libseccomp(spec->filter);
    REQUIRE(ours);
    REQUIRE(theirs);
    CHECK(count_differences(*ours, *theirs, interesting(spec->filter)) == 0);
    CHECK(jail::reachable_syscalls(*ours) == jail::reachable_syscalls(*theirs));
  }
}

TEST_CASE("random rules compile to what libseccomp makes of them") {
  std::mt19937 random(20261129);
  for (int round = 0; round < 20; ++round) {
    INFO("round " << round);
    const SyscallFilter filter = random_filter(random);
    const auto ours = jail::compile_filter(filter);
    const auto theirs = support::compile_by_libseccomp(filter);
    REQUIRE(ours);
    REQUIRE(theirs);
    CHECK(count_differences(*ours, *theirs, interesting(filter)) == 0);
  }
}

TEST_CASE("tight reaches exactly fifty system calls") {
  const auto library = policies::Library::open(SANDGLASS_POLICIES);
  REQUIRE(library);
  const auto policy = library->find("tight");
  REQUIRE(policy);
  const auto spec = policies::to_spec(*policy, library->syscalls(), {});
  REQUIRE(spec);
  const auto program = jail::compile_filter(spec->filter);
  REQUIRE(program);
  CHECK(jail::reachable_syscalls(*program).size() == 50);
  CHECK_FALSE(jail::reaches(*program, *jail::syscall_number("execve")));
  CHECK_FALSE(jail::reaches(*program, *jail::syscall_number("socket")));
}
