// Using up what is the host's, under a tightened copy of the policy.
#include "runner/reach/catalogue_parts.h"

namespace runner::reach {
namespace {

using enum Layer;

// Where no cgroup counts, memory that belongs to no process (loose allows it) is not limited: the
// spawner adds up what processes have. The last member of r05 and r22 says so.
constexpr Probe kProbes[] = {
    {"r01", "many-processes", "starts 64 processes at once",
     "SandboxEval 45; snekbox fork bomb test", Category::kResources, kCgroup, kNever, By::kHelper,
     Room::kSmall},
    {"r02", "many-threads", "starts 80 threads at once", "SandboxEval 45", Category::kResources,
     kCgroup, kNever, By::kHelper, Room::kSmall},
    {"r03", "memory", "fills 160 MiB of memory", "SandboxEval 45; snekbox memory test",
     Category::kResources, kCgroup, kNever, By::kHelper, Room::kSmall},
    {"r04", "memory-of-several", "lets four processes fill 160 MiB together",
     "limits per process only: snekbox 125", Category::kResources, kCgroup, kNever, By::kHelper,
     Room::kSmall},
    {"r05",
     "memory-file",
     "fills 160 MiB of a memory file",
     "tmpfs accounting class",
     Category::kResources,
     kCgroup,
     kNever,
     By::kHelper,
     Room::kSmall,
     {},
     std::nullopt,
     kOnlyLoose},
    {"r06", "pipe-buffers", "fills 40 MiB of pipe buffers", "kernel memory class",
     Category::kResources, kRlimit, kNever, By::kHelper, Room::kSmall},
    {"r07", "fill-workdir", "writes 16 MiB to the working folder", "SandboxEval 47 (disk); snekbox",
     Category::kResources, kMount, kNever, By::kHelper, Room::kSmall},
    {"r08", "fill-tmp", "writes 160 MiB to /tmp", "SandboxEval 47 (disk)", Category::kResources,
     kMount, kNever, By::kHelper, Room::kSmall},
    {"r09", "fill-shm", "writes 160 MiB to /dev/shm", "SandboxEval 47 (disk)", Category::kResources,
     kCgroup, kNever, By::kHelper, Room::kSmall},
    {"r10", "huge-file", "makes a file of 3 GiB without bytes", "snekbox 16b1a13 (sparse files)",
     Category::kResources, kRlimit, kNever, By::kHelper, Room::kSmall},
    {"r11", "descriptors", "opens 2000 files at once", "descriptor exhaustion class",
     Category::kResources, kRlimit, kNever, By::kHelper, Room::kSmall},
    {"r12", "sleep", "sleeps beyond the limit on wall time", "Judge0 1.13 (endless); Piston 683",
     Category::kResources, kSupervisor, kNever, By::kHelper, Room::kSmall},
    {"r13", "deaf", "ignores all signals and sleeps beyond the limit", "timeouts by SIGTERM",
     Category::kResources, kSupervisor, kNever, By::kHelper, Room::kSmall},
    {"r14", "burn", "uses more processor time than allowed", "SandboxEval 45", Category::kResources,
     kRlimit, kNever, By::kHelper, Room::kSmall},
    {"r15", "burn-by-several", "lets four processes use more processor time together than allowed",
     "limits per process only", Category::kResources, kCgroup, kNever, By::kHelper, Room::kSmall},
    {"r16", "flood-stdout", "writes 4 MiB to stdout", "snekbox 81; SandboxEval 46",
     Category::kResources, kSupervisor, kNever, By::kHelper, Room::kSmall},
    {"r17", "flood-stderr", "writes 4 MiB to stderr", "pipe deadlock class", Category::kResources,
     kSupervisor, kNever, By::kHelper, Room::kSmall},
    {"r18", "real-time", "asks for real-time scheduling", "processor starvation class",
     Category::kResources, kCapability, kNever, By::kHelper, Room::kSmall},
    {"r19", "lock-memory", "locks 1 MiB into memory", "memory starvation class",
     Category::kResources, kRlimit, kNever, By::kHelper, Room::kSmall},
    {"r20", "core-file", "may write core files, or feed the host's handler",
     "core_pattern class; CVE-2025-4598", Category::kResources, kRlimit, kNever, By::kHelper,
     Room::kSmall},
    {"r21", "raise-limit", "raises a hard limit", "isolate 6f21daf", Category::kResources,
     kCapability, kNever, By::kHelper, Room::kSmall},
    {"r22",
     "detached-segments",
     "leaves 160 MiB in segments that no process has attached",
     "shared memory accounting class",
     Category::kResources,
     kCgroup,
     kNever,
     By::kHelper,
     Room::kSmall,
     {},
     std::nullopt,
     kOnlyLoose},
    {"r23", "timers", "makes 3000 timers", "kernel memory class", Category::kResources, kRlimit,
     kNever, By::kHelper, Room::kSmall},
    {"r24", "orphans", "leaves 80 processes to PID 1, which may not reap them",
     "peers B29: subfloor 644; microsandbox 1201", Category::kResources, kSupervisor, kNever,
     By::kHelper, Room::kSmall},
};

}  // namespace

std::span<const Probe> resource_catalogue() { return kProbes; }

}  // namespace runner::reach
