#include "tests/support/require.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

namespace support {
namespace {

constexpr int kSkipped = 77;  // SKIP_RETURN_CODE in tests/CMakeLists.txt

enum class Demand { kAlways, kNever };

// Loudly: to stderr, and to the file whose lines scripts/test prints at its end.
[[noreturn]] void missing(const std::string& what, Demand demand) {
  const bool must_work = std::getenv("SANDGLASS_MUST_WORK") != nullptr && demand == Demand::kAlways;
  const std::string line =
      (must_work ? "FAILED: this host has no " : "SKIPPED: this host has no ") + what + "\n";
  std::cerr << line << std::flush;
  if (const char* path = std::getenv("SANDGLASS_SKIPS")) {
    std::ofstream(path, std::ios::app) << line << std::flush;
  }
  std::_Exit(must_work ? 1 : kSkipped);
}

bool user_namespaces_work() {
  const pid_t child = ::fork();
  if (child == 0) {
    const int flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                      CLONE_NEWUTS | CLONE_NEWCGROUP;
    std::_Exit(::unshare(flags) == 0 ? 0 : 1);
  }
  int status = -1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

bool seccomp_notify_works() {
  const unsigned action = SECCOMP_RET_USER_NOTIF;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool landlock_works() {
  // landlock_create_ruleset(2): LANDLOCK_CREATE_RULESET_VERSION (1) asks for the ABI.
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1U) > 0;
}

bool cgroup_v1_works() { return ::access("/sys/fs/cgroup/memory/cgroup.procs", W_OK) == 0; }

// /sys/fs/cgroup itself, or "unified" beside v1 controllers, where it usually has no controllers.
bool cgroup_v2_works() {
  for (const std::string root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    std::ifstream file(root + "/cgroup.controllers");
    for (std::string word; file >> word;) {
      if (word == "memory" && ::access((root + "/cgroup.procs").c_str(), W_OK) == 0) return true;
    }
  }
  return false;
}

struct Known {
  const char* name;
  Demand demand;
};

Known known(Feature feature) {
  switch (feature) {
    case Feature::kUserNamespaces:
      return {
          "user namespaces (kernel.unprivileged_userns_clone, or a container's seccomp profile)",
          Demand::kAlways};
    case Feature::kSeccompNotify:
      return {"seccomp user notification (Linux 5.0)", Demand::kAlways};
    case Feature::kMemoryCgroup:
      return {"writable cgroup memory controller", Demand::kNever};
    case Feature::kRoot:
      return {"root: run it as root", Demand::kNever};
    case Feature::kUnprivileged:
      return {"unprivileged user: run it as another user than root", Demand::kNever};
    case Feature::kCgroupV1:
      return {"writable cgroup v1 memory controller", Demand::kNever};
    case Feature::kCgroupV2:
      return {"writable cgroup v2 memory controller", Demand::kNever};
    case Feature::kLandlock:
      return {"Landlock", Demand::kNever};
  }
  return {"such feature", Demand::kAlways};
}

}  // namespace

bool has(Feature feature) {
  switch (feature) {
    case Feature::kUserNamespaces:
      return user_namespaces_work();
    case Feature::kSeccompNotify:
      return seccomp_notify_works();
    case Feature::kMemoryCgroup:
      return cgroup_v1_works() || cgroup_v2_works();
    case Feature::kRoot:
      return ::geteuid() == 0;
    case Feature::kUnprivileged:
      return ::geteuid() != 0;
    case Feature::kCgroupV1:
      return cgroup_v1_works();
    case Feature::kCgroupV2:
      return cgroup_v2_works();
    case Feature::kLandlock:
      return landlock_works();
  }
  return false;
}

void require(Feature feature) {
  if (has(feature)) return;
  const Known what = known(feature);
  missing(what.name, what.demand);
}

void require_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    folder.append("/").append(name);
    if (::access(folder.c_str(), X_OK) == 0) return;
  }
  missing(name + " in PATH", Demand::kAlways);
}

void require_python(const std::string& module, const std::string& package) {
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string code = "import " + module;
    ::execl("/usr/bin/python3", "python3", "-c", code.c_str(), nullptr);
    std::_Exit(127);
  }
  int status = -1;
  if (child > 0 && ::waitpid(child, &status, 0) == child && status == 0) return;
  missing("Python module " + module + " (" + package + ")", Demand::kAlways);
}

}  // namespace support
