// One jail as the worker sees it: its init, its cgroup, its place in life, and what is known of
// the payload in it. Plain state; spawner.cc drives it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "jail/cgroup.h"
#include "jail/client.h"
#include "jail/fd.h"
#include "jail/identity.h"
#include "jail/notify.h"
#include "jail/plan.h"
#include "jail/restrict.h"

namespace jail {

// A plan mapped once and shared by the jails made from it. Two launches name the same plan when
// they pass the same memfd: a sealed memfd's inode is its content's identity.
struct LoadedPlan {
  Fd file;  // keeps the inode from being used again
  Mapping mapping;
  PlanView view;
  ino_t inode = 0;
  dev_t device = 0;
  std::uint32_t pool_target = 0;
  std::optional<SetupError> broken;  // the last pooled jail failed: do not refill for ever
};

enum class Stage : std::uint8_t { kMaking, kReady, kStarting, kRunning, kDying };

struct JailProcess {
  std::uint64_t serial = 0;
  std::uint32_t slot = 0;
  std::shared_ptr<LoadedPlan> plan;
  pid_t pid = -1;  // for /proc only; signals go through the pidfd
  Fd pidfd;
  Fd control;
  Fd workdir;
  Cgroup cgroup;
  std::unique_ptr<Notify> notify;
  Stage stage = Stage::kMaking;
  std::optional<std::uint64_t> launch;  // the caller's id
  std::optional<SetupError> error;
  Millis kill_after{0};  // 0: never
  std::chrono::steady_clock::time_point kill_at = std::chrono::steady_clock::time_point::max();
  bool launched_sent = false;
  bool end_reported = false;
  bool listening = false;  // the listener is in the epoll set
  Ended ended;
};

// What the worker found out about the host.
struct WorkerFacts {
  int proc = -1;  // procfs
  IdBlock block;
  JailFacts jail;
};

// clone3 into fresh namespaces (and, for v2, into the cgroup), id maps written, "go" sent. On
// failure nothing is left behind.
Result<JailProcess> make_jail(std::shared_ptr<LoadedPlan> plan, std::uint64_t serial,
                              std::uint32_t slot, const Cgroups& cgroups, const WorkerFacts& facts);

}  // namespace jail
