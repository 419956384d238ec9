// What a test needs of this host. A missing thing ends the test case loudly with exit code 77,
// which ctest reports as skipped; where SANDGLASS_MUST_WORK is set (CI), it fails instead, so that
// no test is skipped for ever unseen. Call it first in a test case: nothing is unwound. May fork;
// one thread.
#pragma once

#include <string>

namespace support {

enum class Feature {
  // Every machine that tests Sandglass must have these.
  kUserNamespaces,  // with mount, pid, net, ipc, uts and cgroup namespaces inside
  kSeccompNotify,   // SECCOMP_RET_USER_NOTIF
  // Kinds of host and of run. A test for one kind can't run on another, so these never fail.
  kRoot,
  kUnprivileged,
  kMemoryCgroup,  // v2 or v1, writable by us: Sandglass also runs without
  kCgroupV1,      // with a writable memory controller
  kCgroupV2,      // likewise
  kLandlock,
};

// Returns if the feature is there; else it does not return.
void require(Feature feature);

// A program in PATH, such as "node" or "bwrap". Always demanded in CI.
void require_program(const std::string& name);
// The same for a module of /usr/bin/python3, which the Debian package brings.
void require_python(const std::string& module, const std::string& package);

// Whether it is there, for a test that does something else without it.
bool has(Feature feature);

}  // namespace support
