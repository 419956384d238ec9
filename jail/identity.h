// Who a jail runs as: id maps, capabilities, securebits. The functions below `// after fork` may
// be called after fork: no allocation, no lock.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "jail/error.h"
#include "jail/spec.h"

namespace jail {

// The block of host ids a spawner started with enough privilege takes: the worker is `first`, jail
// slot n is `first` + 1 + n. Picked by pid, so that two live spawners never share one; inside a
// container, from what /proc/self/uid_map offers. count == 1 and first == the caller's own id:
// rootless, every jail shares it.
struct IdBlock {
  std::uint32_t first_uid = 0;
  std::uint32_t first_gid = 0;
  std::uint32_t count = 1;
};

inline constexpr std::uint32_t kBlockSize = 1024;

// Reads this process's capabilities and id maps; no side effect.
IdBlock choose_block(pid_t keeper);

// In the keeper: maps 0..count-1 of the worker's new user namespace onto the block.
Result<void> map_outer(int proc, pid_t worker, const IdBlock& block);

// In the worker: maps one uid and gid of the jail onto the slot's.
Result<void> map_jail(int proc, pid_t init, Identity inside, const IdBlock& block,
                      std::uint32_t slot);

// after fork

// Becomes uid and gid for good (real, effective, saved), without supplementary groups where the
// namespace allows setgroups(2).
Result<void> become(Id uid, Id gid);

// Drops every capability from the bounding set; needs CAP_SETPCAP.
Result<void> drop_bounding_set();

// Locks "root is nothing special": no capability ever comes back by uid 0 or by a file.
Result<void> lock_securebits();

// Empties permitted, effective, inheritable and ambient.
Result<void> clear_capabilities();

}  // namespace jail
