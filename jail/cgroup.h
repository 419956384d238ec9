// Limits over all processes of one jail: cgroup v2, cgroup v1, or neither, decided for each
// controller by what this host lets us make. The keeper (which still has the host's credentials)
// makes one folder `sandglass-PID` per hierarchy and gives it to the worker's uid; the worker
// makes one `jail-N` below it per jail. A folder is locked (flock) while its spawner lives, so a
// later one can tell a stale folder from a busy one and remove it.
//
// SANDGLASS_CGROUP=none|v1|v2 in the environment restricts the choice (to test the fall-backs).
// One thread. Not for use after fork, except `Cgroup::enter_v1`.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jail/client.h"
#include "jail/error.h"
#include "jail/fd.h"
#include "jail/spec.h"

namespace jail {

enum class Controller : std::uint8_t { kMemory, kPids, kCpu };
inline constexpr std::size_t kControllers = 3;

// What a jail's cgroup counted. Zero where no controller counts it.
struct CgroupStats {
  Bytes peak_memory{};
  std::uint64_t oom_kills = 0;
  std::uint64_t process_limit_hits = 0;
  Millis cpu_time{0};
};

// One jail's folders. Removed by `remove`; the destructor leaves them (the keeper sweeps).
class Cgroup {
 public:
  Cgroup() = default;

  // v2: the folder to clone into, or -1. v1: -1.
  [[nodiscard]] int v2_folder() const;
  // v1: puts the calling process in, by writing 0 to each `tasks` (65 us where a parent writing
  // cgroup.procs pays 11 ms). Safe after fork. Returns 0 or an errno.
  [[nodiscard]] int enter_v1() const;
  // In the parent, when that has been left to a child and nobody else is to come: a jail holds
  // files enough.
  void close_tasks();
  // What a process writes "0" to in order to get in: `tasks` (v1), `cgroup.procs` (v2).
  [[nodiscard]] std::vector<Fd> entrances();
  [[nodiscard]] CgroupStats stats() const;
  // CPU time alone, and kills alone: what a look at an idle jail costs.
  [[nodiscard]] std::uint64_t cpu_usec() const;
  [[nodiscard]] std::uint64_t oom_kills() const;
  // For whoever reads by himself; not all are there where a controller is missing.
  [[nodiscard]] MeterFiles meter_files() const;
  // Lets peak_memory count from here, where the kernel allows it.
  void reset_peak() const;
  // False while a process is still inside: call again later.
  bool remove();

 private:
  friend class Cgroups;
  struct Part {
    Enforcer kind = Enforcer::kNone;
    int base = -1;  // the spawner's folder, which stays open longer
    std::string name;
    Fd folder;
    Fd tasks;  // v1
  };
  [[nodiscard]] const Part* part(Controller c) const;
  std::vector<Part> parts_;
  std::array<int, kControllers> index_{-1, -1, -1};
};

// The spawner's folders.
class Cgroups {
 public:
  // In the keeper, before the worker exists. Never fails: what can't be made is kNone.
  static Cgroups make(pid_t keeper);
  // Gives the folders to the worker and moves it in (v2 needs a common ancestor it may write).
  void hand_to(pid_t worker, uid_t uid, gid_t gid);
  [[nodiscard]] Enforcer enforcer(Controller c) const;
  // A folder with its limits written; kCgroup and errno when that fails. Init is not counted as
  // one of `totals.processes`.
  [[nodiscard]] Result<Cgroup> create(std::uint64_t serial, const Totals& totals) const;
  // What all jails have used of the processor, also those that are gone, in a unit of the kernel's:
  // while it stands still, none has used any. nullopt where no cgroup counts it.
  [[nodiscard]] std::optional<std::uint64_t> cpu_of_all() const;
  // Removes everything below and the folders themselves; false if a process is still inside.
  bool remove();

 private:
  struct Base {
    Enforcer kind = Enforcer::kNone;
    std::string path;
    Fd folder;  // holds the flock
  };
  std::vector<Base> bases_;
  std::array<int, kControllers> index_{-1, -1, -1};
};

// Folders of a spawner that died without removing them; needs no lock, only emptiness.
void remove_cgroups_of(pid_t keeper) noexcept;

}  // namespace jail
