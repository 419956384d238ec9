// What comes of fetching files from a working folder in which a probe has planted something.
// Blocking; any thread.
#pragma once

#include <string>

#include "jail/fd.h"
#include "policies/policy.h"

namespace runner::reach {

// As sandglass fetches: by collect(), under the policy's limits. What came along that should not
// have, in words; "" if nothing did. `workdir`: as ExecutionRecord has it.
std::string fetch_safely(const jail::Fd& workdir, const policies::Policy& policy);

// As a careless supervisor fetches: every entry by its name, whatever it is. Bounded all the same.
std::string fetch_carelessly(const std::string& folder);

}  // namespace runner::reach
