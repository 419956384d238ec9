// The second wall: what the mounts allow, said again to Landlock, so that one mistake in either
// does not open a path. After fork: no allocation.
#pragma once

#include "jail/error.h"
#include "jail/fd.h"
#include "jail/plan.h"

namespace jail {

// 0 where the kernel has none (or it is switched off at boot).
int landlock_abi() noexcept;

// A ruleset over the jail's own paths, built by init after pivot_root. Invalid Fd when abi is 0.
Result<Fd> landlock_rules(const PlanView& plan, int abi);

// In the payload, after no_new_privs.
Result<void> landlock_enter(const Fd& ruleset);

}  // namespace jail
