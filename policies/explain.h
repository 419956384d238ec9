// What a policy means, in words, and where the words of a refusal come from. Looks at the
// host only as mount_table() does (compile.h). Any thread.
#pragma once

#include <string>

#include "policies/error.h"
#include "policies/policy.h"
#include "policies/syscalls.h"

namespace policies {

// Plain sentences, one a line: what code under the policy can do, what it cannot, its limits, and
// what the policy gives up, with the reasons. `reachable` is the number of system calls the
// compiled filter lets through (jail/bpf.h counts them).
Result<std::string> explain(const Policy& policy, const SyscallTable& table, int reachable);

// The resolved policy as TOML. It parses back to the same policy, but for `extends`, which is shown
// as a comment since its content is merged in.
std::string show(const Policy& policy);

enum class PathView {
  kHidden,    // not in the jail's tree
  kReadOnly,  // a bind of the host's
  kWritable,  // a tmpfs
  kMade,      // a file or link made by Sandglass
  kDevice,
  kProc,
};

struct PathAnswer {
  PathView view = PathView::kHidden;
  std::string key;   // the policy key that decides: "files.read_only"; the one to change if hidden
  std::string text;  // "/etc/shadow is hidden: no files.read_only entry shows it"
};

// What the mount table says of a path as seen from inside. Relative paths and ".." are taken from
// the workdir, lexically; links are not followed.
PathAnswer explain_path(const Policy& policy, std::string_view path);

struct SyscallAnswer {
  std::string rule;  // for reports: the set's name ("local_sockets"), "never", or "unknown"
  std::string text;  // "socket is in @local_sockets: ...; syscalls.allow = [\"@local_sockets\"]"
};

// Why a call was denied, and which line of a policy would allow it, if any may.
Result<SyscallAnswer> explain_syscall(const Policy& policy, const SyscallTable& table, int number);

}  // namespace policies
