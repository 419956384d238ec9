// From a policy to what the kernel is told. Looks at the host only to see which of /bin, /lib,
// /lib64 and /sbin are links there. Any thread.
#pragma once

#include <string>
#include <vector>

#include "jail/spec.h"
#include "policies/error.h"
#include "policies/policy.h"
#include "policies/syscalls.h"

namespace policies {

// What the operator's command line adds; never a request.
struct Extras {
  std::vector<Bind> read_only;
};

// One entry of the jail's tree and the policy key that put it there ("files.workdir").
struct Placed {
  jail::Mount mount;
  std::string key;
};

// Everything in the jail's tree except /proc and the code folder, in the order in which it is made:
// binds (outer folders first; what an outer one shows anyway is left out), links, our /etc,
// writable folders, devices. Errors: an extra bind of a path that is never bound.
Result<std::vector<Placed>> mount_table(const Policy& policy, const Extras& extras);

// Errors: mode = "restricted" (no process to describe), a link to what is never bound, and those of
// mount_table.
Result<jail::Spec> to_spec(const Policy& policy, const SyscallTable& table, const Extras& extras);

// Where the code file and drivers are put, read-only.
inline constexpr const char* kCodeDir = "/run/sandglass";

}  // namespace policies
