// A comparison as one JSON document, UTF-8, no newline. Pure; any thread.
#pragma once

#include <string>

#include "runner/reach/compare.h"

namespace runner::reach {

// {"a": {surface, "probes": counts or null}, "b": ..., "syscalls": {"both", "only_a", "only_b",
//  "neither", "unclear": names}, "probes": {"both", ... : ids, "rows": [...]}, "differences"}
std::string compare_json(const Comparison& comparison);

}  // namespace runner::reach
