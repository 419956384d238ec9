// What a request may ask of a policy: less. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/error.h"
#include "policies/policy.h"

namespace policies {

// Absent: what the policy gives.
struct Wish {
  std::optional<Bytes> memory;
  std::optional<Millis> cpu_time;
  std::optional<Millis> wall_time;
  std::optional<std::uint64_t> processes;
  std::optional<Bytes> file_size;
  std::optional<Bytes> workdir_size;
  std::optional<Bytes> output;
};

// The policy with the wishes in force. A wish above the policy's value, or one that is too small to
// run anything, is an error that names the limit, the wish and the policy's value. Writable folders
// that would no longer fit into the memory shrink with it.
Result<Policy> narrow(Policy policy, const Wish& wish);

}  // namespace policies
