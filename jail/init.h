// PID 1 of a jail: makes it, reports, starts one payload, reaps, and dies with its lifeline (the
// control socket to the worker: when that closes, init exits and the kernel ends the namespace).
// After fork: no allocation.
#pragma once

#include "jail/fd.h"
#include "jail/plan.h"
#include "jail/restrict.h"

namespace jail {

// Never returns. `entered`: an errno where the cgroup could not be entered, else 0. `control` is
// init's end of the socket pair.
[[noreturn]] void run_init(const PlanView& plan, const JailFacts& facts, int entered, Fd control);

}  // namespace jail
