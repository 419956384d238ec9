// What code under a policy can reach, read off what the kernel would be told: the compiled filter,
// evaluated here for every system call and the arguments that matter, the mount table, the
// capability sets and the limits. No process is started; of the host only the presence of the
// files is looked at that the policy shows where there are any. Any thread.
#pragma once

#include "policies/policy.h"
#include "policies/syscalls.h"
#include "runner/error.h"
#include "runner/reach/surface.h"

namespace runner::reach {

// A policy with mode = "restricted" starts no process: everything is closed.
// Errors (kPolicy, kSetup): those of policies::to_spec and jail::compile_filter.
Result<Surface> static_reach(const policies::Policy& policy, const policies::SyscallTable& table);

// Every x86-64 call with a name, each with its group, and all of one opening.
Result<std::vector<Call>> all_calls(const policies::SyscallTable& table, Opening opening);

}  // namespace runner::reach
