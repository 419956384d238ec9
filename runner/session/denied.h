// The refused calls of one execution, made to explain themselves: which call, which rule refused
// it, and which line in the policy would allow it. Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "jail/client.h"

namespace runner {

struct DeniedEntry {
  std::string syscall;  // "socket"
  std::string args;     // "AF_INET, SOCK_STREAM"; printable; may be empty
  std::uint64_t count = 0;
  std::string rule;        // "network"
  std::string allow_with;  // `[syscalls] allow = ["@network"]`; empty: nothing would
};

struct DenyRule {
  std::string rule;
  std::string allow_with;
};

// What the policy in force says about a call it refused.
using RuleOf = std::function<DenyRule(const jail::Denied&)>;

// Most frequent first. Kinds that read the same are added up.
std::vector<DeniedEntry> explain_denied(std::span<const jail::Denied> denied,
                                        const RuleOf& rule_of);

// `denied socket(AF_INET, SOCK_STREAM) x3: rule network; allowed by ...; denied ...`: one line, a
// handful of kinds, the rest as a number. Empty for an empty list. `total` counts all calls.
std::string denied_line(std::span<const DeniedEntry> denied, std::uint64_t total);

}  // namespace runner
