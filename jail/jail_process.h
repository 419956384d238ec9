// One jail as the worker sees it: its init, its cgroup, its place in life, and what is known of
// the payload in it. Plain state; spawner.cc drives it.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "jail/cgroup.h"
#include "jail/client.h"
#include "jail/fd.h"
#include "jail/identity.h"
#include "jail/join.h"
#include "jail/networks.h"
#include "jail/notify.h"
#include "jail/plan.h"
#include "jail/reserved_fds.h"
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

// A payload that joins, from the caller's wish to its end.
struct Joining {
  std::uint32_t prototype = 0;
  Fd control;  // these four until the order is sent
  Fd in;
  Fd out;
  Fd err;
  Fd command;  // of prototype 0
  Fd report;   // read end: a JoinReport, then the end of file
  Fd go;       // write end: a byte once its listener is ours
  pid_t pid = -1;
  Fd pidfd;
  bool reaped = false;
};

// An interpreter with its libraries imported, outside of any jail.
struct Prototype {
  pid_t pid = -1;
  Fd orders;
};

// kParked: a payload that joined has ended; the jail waits for another, or to be closed.
enum class Stage : std::uint8_t { kMaking, kReady, kStarting, kRunning, kParked, kDying };

struct JailProcess {
  std::uint64_t serial = 0;
  std::uint32_t slot = 0;
  std::shared_ptr<LoadedPlan> plan;
  pid_t pid = -1;  // for /proc only; signals go through the pidfd
  Fd pidfd;
  Fd control;
  std::optional<ReservedFds::Place> shared;  // while init may share our table of files
  Fd workdir;
  std::array<Fd, kNamespaces> namespaces;  // for payloads that join, and for the next one
  Fd landlock;
  JailFacts facts;
  std::unique_ptr<Joining> joining;
  bool sweeping = false;            // init kills what the last payload left behind
  bool kept = false;                // a payload has been in it: there is something to lose
  int strangers_for = 0;            // ticks in which a payload we never heard of may be reaped
  CgroupStats armed;                // what the cgroup had counted then
  std::optional<Millis> cpu_limit;  // instead of the plan's
  std::uint64_t meter_turn = 0;     // the caller's, of what was armed last in our common memory
  std::uint64_t cpu_seen = 0;       // microseconds, by the last sample
  std::chrono::steady_clock::time_point sample_at;
  std::chrono::milliseconds sample_every{0};
  Cgroup cgroup;
  Fd network;  // to be given back; invalid where the jail made its own
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

  // Init has said something, or is dead: it shares nothing of ours.
  void let_go_of_init() {
    shared.reset();
    if (!joining) cgroup.close_tasks();
  }
};

// What the worker found out about the host.
struct WorkerFacts {
  int proc = -1;  // procfs
  IdBlock block;
  JailFacts jail;
};

// clone3 into fresh namespaces (for v2, into the cgroup; without loopback, into one of `networks`),
// id maps written, "go" sent. On failure nothing is left behind.
Result<JailProcess> make_jail(std::shared_ptr<LoadedPlan> plan, std::uint64_t serial,
                              std::uint32_t slot, const Cgroups& cgroups, const WorkerFacts& facts,
                              ReservedFds& reserved, Networks& networks);

}  // namespace jail
