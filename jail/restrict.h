// The payload's last steps, in the only order that works, and the list of what may run after fork.
//
// May be called after fork (no allocation, no lock, errors as SetupError): everything in
// mounts.h, landlock.h, restrict.h, init.h, the second half of identity.h, wire.h's packets,
// plan.h's views, fd.h.
#pragma once

#include "jail/error.h"
#include "jail/fd.h"
#include "jail/plan.h"

namespace jail {

// What the worker found out and a jail needs to know.
struct JailFacts {
  int landlock_abi = 0;
  // Set where no cgroup limits memory: RLIMIT_DATA for each process. 0: not needed.
  std::uint64_t data_limit = 0;
  // Set where no cgroup limits processes: RLIMIT_NPROC, init included. 0: not needed.
  std::uint64_t process_limit = 0;
};

// Every signal to its default, none blocked.
void reset_signals();

// setsid: no terminal, and a process group that an interrupt can be sent to.
Result<void> start_session();

// Makes the three the caller's standard streams.
Result<void> set_streams(const Fd& in, const Fd& out, const Fd& err);

// rlimits[i] · bounding set · securebits · capabilities · no_new_privs · Landlock. Only seccomp is
// left to do.
Result<void> restrict_self(const PlanView& plan, const JailFacts& facts, const Fd& landlock);

// seccomp, last. Returns the listener's number, or -1 when the filter has nothing to report.
// From here on the caller may only use what every policy allows: read, write, execve, exit_group.
Result<int> filter_self(const PlanView& plan);

}  // namespace jail
