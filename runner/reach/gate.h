// Before strangers are let in: the quick probes, under each policy that they may ask for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "policies/load.h"
#include "runner/error.h"
#include "runner/reach/report.h"
#include "runner/session/home.h"

namespace runner::reach {

// Tries in each policy's jails what can be tried within seconds: the helper's probes that fill
// nothing and wait for nothing. `policies`: names or paths; those that start no process are left
// out. `tell` is told of each report. The error (kHost) names what was reached that must be
// blocked or gave no answer, and how to see more of it; or says why no probe could be run.
// kUsage: interrupted (interrupt.h).
// Before other threads are started (outside.h).
Result<void> prove(const Home& home, const policies::Library& library,
                   const std::vector<std::string>& policies,
                   const std::function<void(const Report&)>& tell);

enum class Policy { kShipped, kOwn };

// What keeps the gate shut: reached, where the shipped policy of that name blocks it; under a
// policy of the operator's own, where no shipped policy lets it through.
std::vector<const Row*> holes(const Report& report, Policy policy);
// And this, under any: who did not answer has not been stopped. Where this host cannot make the
// policy's jails at all, no code will run in them either.
std::vector<const Row*> unanswered(const Report& report);

}  // namespace runner::reach
