// What a jail uses right now, where no cgroup counts it: a walk over the process tree below init
// through the host's /proc. In the worker; one thread.
#pragma once

#include <sys/types.h>

#include "jail/units.h"

namespace jail {

struct Sampled {
  pid_t first = -1;    // init's oldest living child: the payload, while it runs
  Bytes memory{};      // sum of Pss: shared pages are counted once
  Millis cpu_time{0};  // user + system of the living and of children they have waited for
};

// `proc` is a directory fd of the host's procfs. Processes that end meanwhile are skipped.
Sampled sample_tree(int proc, pid_t init);

}  // namespace jail
