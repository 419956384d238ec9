// The worker: makes jails, starts payloads in them, watches, reports. One thread, asserted. Root
// only inside its own user namespace; no JSON, no TOML, no interpreter. Lives until its caller or
// its keeper goes away; all jails die with it.
#pragma once

#include "jail/cgroup.h"
#include "jail/fd.h"
#include "jail/jail_process.h"

namespace jail {

// Serves `caller` until it or `keeper` (the read end of a pipe) reaches end of file. Returns the
// process's exit status.
int run_worker(Fd caller, Fd keeper, Hello hello, const Cgroups& cgroups, WorkerFacts facts);

}  // namespace jail
