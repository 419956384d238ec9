// The words of `sandglass-reach --facts`: what a program inside another sandbox finds out about
// its confinement, as lines "KEY VALUE...". Pure; any thread.
#pragma once

#include <string_view>

#include "runner/error.h"
#include "runner/reach/surface.h"

namespace runner::reach {

// `inside`: the facts of a process in the sandbox; `outside`: of one without. `calls`: all_calls()
// (static_reach.h). kHost: the sandbox printed no facts.
Result<Surface> surface_of_facts(std::string_view inside, std::string_view outside,
                                 std::vector<Call> calls);

}  // namespace runner::reach
