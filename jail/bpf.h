// Compiled filters and what can be read off them without a kernel. Pure; any thread.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <span>
#include <vector>

#include "jail/error.h"
#include "jail/spec.h"

namespace jail {

using BpfProgram = std::vector<sock_filter>;

// Rules to BPF: a binary search over runs of numbers with one answer, then the tests of the number
// found (filter.cc says why not libseccomp). For one number, tested rules are tried in the order
// given, then the untested one, then the fallback. kPlan/EINVAL on a malformed test, kPlan/E2BIG on
// a program over BPF_MAXINSNS.
Result<BpfProgram> compile_filter(const SyscallFilter& filter);

// Runs the program on one call, as the kernel would; returns SECCOMP_RET_*. A program that falls
// off its end or loads out of bounds gives SECCOMP_RET_KILL_PROCESS.
std::uint32_t run_filter(std::span<const sock_filter> program, const seccomp_data& call);

// Can some arguments make the program say SECCOMP_RET_ALLOW for this number?
bool reaches(std::span<const sock_filter> program, int number);

// Does the program say SECCOMP_RET_ALLOW for this number whatever the arguments? It follows both
// sides of each branch on an argument, so it may say no where the tests together leave no gap.
bool always_allows(std::span<const sock_filter> program, int number);

// Every x86-64 number for which some arguments make the program say SECCOMP_RET_ALLOW, found by
// following both sides of each branch that depends on an argument. Ascending. Numbers with no name
// are tried too, up to kLastSyscall.
std::vector<int> reachable_syscalls(std::span<const sock_filter> program);

}  // namespace jail
