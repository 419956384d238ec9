// What code can learn of the host it runs on.
#include "runner/reach/catalogue_parts.h"

namespace runner::reach {
namespace {

using enum Layer;

constexpr Probe kProbes[] = {
    {"i01", "host-name", "learns the host's name", "SandboxEval 5; sandbox2 HostnameNone",
     Category::kInformation, kOther, kNever},
    {"i02", "kernel-version", "learns the kernel's version", "SandboxEval 1 (platform)",
     Category::kInformation, kNone, kAlways},
    {"i03", "processors", "learns how many processors there are", "SandboxEval 2 (CPU)",
     Category::kInformation, kNone, kAlways},
    {"i04", "memory-and-load", "learns the host's memory, load and uptime",
     "SandboxEval 3 (memory)", Category::kInformation, kNone, kAlways},
    {"i05", "hardware", "reads hardware from /sys", "fingerprinting class", Category::kInformation,
     kMount, kNever},
    {"i06", "machine-id", "reads the machine's and the boot's id", "fingerprinting class",
     Category::kInformation, kMount, kNever},
    {"i07", "sensors", "reads temperatures and batteries", "SandboxEval 7 (sensor)",
     Category::kInformation, kMount, kNever},
    {"i08", "host-wide-proc", "reads /proc/stat, meminfo and cpuinfo", "SandboxEval 2, 3",
     Category::kInformation, kMount, kOnlyLoose},
    {"i09", "disks", "reads /proc/partitions and diskstats", "SandboxEval 4 (disk)",
     Category::kInformation, kMount, kNever},
    {"i10", "interrupts", "reads /proc/interrupts, which times other people's keys",
     "side channel class", Category::kInformation, kMount, kNever},
    {"i11", "kernel-command-line", "reads /proc/cmdline, the kernel's configuration and keys",
     "fingerprinting class", Category::kInformation, kMount, kNever},
    {"i12", "kernel-addresses", "finds addresses of the kernel in /proc/kallsyms", "KASLR class",
     Category::kInformation, kMount, kNever},
    {"i13", "kernel-messages", "reads /dev/kmsg and the logs", "Docker denies it",
     Category::kInformation, kMount, kNever},
    {"i14", "own-mounts", "reads where its mounts lie on the host's disks",
     "SandboxEval 19 (attributes)", Category::kInformation, kMount, kNotTight},
    {"i15", "cgroup-path", "reads its cgroup's path on the host", "container fingerprinting class",
     Category::kInformation, kMount, kNever},
    {"i16", "environment", "finds a secret of our caller's in its environment",
     "SandboxEval 9; Judge0 564; unsloth 5468", Category::kInformation, kSupervisor, kNever},
    {"i17", "environment-of-others", "reads the environment of its parent and of PID 1",
     "inflexa 88; openbkn 451", Category::kInformation, kMount, kNever},
    {"i18", "groups", "has groups of our caller's", "forgotten setgroups class",
     Category::kInformation, kUser, kNever},
    {"i19", "uid-0", "is uid 0", "SandboxEval 48 (root access)", Category::kInformation, kUser,
     kNever},
    {"i20", "id-map", "reads its id map, which tells its uid on the host", "SandboxEval 8 (user)",
     Category::kInformation, kMount, kNotTight},
    {"i21", "disk-size", "learns the size of the host's disk", "SandboxEval 4 (disk)",
     Category::kInformation, kMount, kNever},
    {"i22", "fine-clock", "has a clock of nanoseconds", "gVisor: side channels are no goal",
     Category::kInformation, kNone, kAlways},
    {"i23", "boot-time", "learns when the host was started", "fingerprinting class",
     Category::kInformation, kNone, kAlways},
    {"i24", "working-folder", "learns where its folder lies on the host",
     "SandboxEval 11 (working folder)", Category::kInformation, kMount, kNever},
    {"i25", "terminal", "has our caller's terminal", "CVE-2017-5226", Category::kInformation,
     kSupervisor, kNever},
    {"i26", "time-zone", "reads the host's time zone and locale", "SandboxEval 10 (locale)",
     Category::kInformation, kMount, kNever},
};

}  // namespace

std::span<const Probe> information_catalogue() { return kProbes; }

}  // namespace runner::reach
