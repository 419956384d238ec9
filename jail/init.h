// PID 1 of a jail: makes it, reports, starts one payload, reaps, and dies with its lifeline (the
// control socket to the worker: when that closes, init exits and the kernel ends the namespace).
// After fork: no allocation.
#pragma once

#include "jail/cgroup.h"
#include "jail/fd.h"
#include "jail/plan.h"
#include "jail/restrict.h"

namespace jail {

// Never returns. `control` is init's end of the socket pair.
[[noreturn]] void run_init(const PlanView& plan, const JailFacts& facts, const Cgroup& cgroup,
                           Fd control);

}  // namespace jail
