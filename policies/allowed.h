// What the words of syscalls.allow and syscalls.deny come to: each allowed call with its argument
// tests, and which sets brought it. Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policies/policy.h"
#include "policies/syscalls.h"

namespace policies {

struct AllowedCall {
  std::string name;
  std::vector<Tests> alternatives;  // or-ed, no duplicates; empty: whatever the arguments
  std::vector<std::string> words;   // of syscalls.allow that brought it: "@files", "flock"
};

struct Allowed {
  std::map<int, AllowedCall> calls;     // by x86-64 number
  std::vector<std::string> weakenings;  // that the sets in force bring, no duplicates
};

// Errors name the word (`word` in the callback's sense: "syscalls.allow @flies"): no such set, no
// such call, a call that is in no set, one that only a set can allow because of its tests, or one
// of the never list. Deny wins over allow.
struct AllowError {
  std::string key;  // "syscalls.allow @flies", as in Places
  std::string text;
};
tl::expected<Allowed, AllowError> allowed_calls(const Syscalls& syscalls,
                                                const SyscallTable& table);

}  // namespace policies
