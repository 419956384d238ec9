// Which rule of a policy refused a call, and which line would allow it: looks at the call's
// arguments too, since most sets allow some and refuse others. Pure; any thread.
#pragma once

#include "jail/client.h"
#include "policies/policy.h"
#include "policies/syscalls.h"
#include "runner/session/denied.h"

namespace runner {

// `rule` is a set's name, "never" (no policy may allow it), "syscalls.deny" or "unknown".
// `allow_with` is empty where nothing would allow this call with these arguments.
DenyRule rule_for(const policies::Policy& policy, const policies::SyscallTable& table,
                  const jail::Denied& call);

}  // namespace runner
