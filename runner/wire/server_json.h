// What the server says of itself: policies and capabilities. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policies/policy.h"
#include "runner/service.h"

namespace runner::wire {

// {"object": "list", "data": [{"id", "object": "policy", "why", "mode", "is_default", "languages",
// "limits", "workdir_bytes", "idle_minutes", "network", "weakenings"}]}
std::string policies_json(std::span<const policies::Policy> policies,
                          const std::string& default_policy);

struct Capability {
  std::string name;   // "cgroup memory"
  std::string here;   // "yes", "no", "unknown"
  std::string found;  // "v1"; may be empty
  std::string lost;   // what is lost without it
};
struct Capabilities {
  std::string version;
  std::string default_policy;
  std::vector<std::string> languages;
  std::uint64_t max_file_bytes = 0;
  std::vector<Capability> host;
};

// "preload": [{"policy", "language", "state": "starting" | "ready" | "failed", "wanted": [MODULE],
// "missing": [{"module", "reason"}]}] beside the rest.
std::string capabilities_json(const Capabilities& capabilities, std::span<const Preload> preloads);

}  // namespace runner::wire
