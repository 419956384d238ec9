// A surface as JSON, for `compare --json`. Pure; any thread.
#pragma once

#include <boost/json.hpp>

#include "runner/reach/surface.h"

namespace runner::reach {

// {"subject", "origin", "filter", "syscalls": {"reachable", "groups": {...}, "calls": [...]},
//  "acts", "sockets", "network", "paths", "devices", "processes", "namespaces", "capabilities",
//  "no_new_privileges", "limits", "notes"}
boost::json::object surface_json(const Surface& surface);

}  // namespace runner::reach
