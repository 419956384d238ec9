// Processes outside, namespaces, and what is shared with a parent.
#include "runner/reach/catalogue_parts.h"

namespace runner::reach {
namespace {

using enum Layer;

constexpr Probe kProbes[] = {
    {"p01", "see-process", "sees a process outside in /proc", "SandboxEval 6 (PID); sandlock 11",
     Category::kProcesses, kMount, kNever},
    {"p02", "read-command-line", "reads the command line of a process outside",
     "secrets in argv: Orva 74, qwen-code 12269", Category::kProcesses, kMount, kNever},
    {"p03", "read-environment", "opens the environment of a process outside",
     "inflexa 88; openbkn 451", Category::kProcesses, kMount, kNever},
    {"p04", "open-memory", "opens the memory of a process outside", "process memory class",
     Category::kProcesses, kMount, kNever},
    {"p05", "open-maps", "opens the memory map of a process outside", "process memory class",
     Category::kProcesses, kMount, kNever},
    {"p06", "trace-outside", "calls ptrace(PTRACE_SEIZE) on a process outside",
     "firejail CVE-2017-5206", Category::kProcesses, kSeccomp, kNever},
    {"p07", "trace", "calls ptrace at all", "firejail CVE-2017-5206; Docker profile",
     Category::kProcesses, kSeccomp, kNever},
    {"p08", "read-memory", "calls process_vm_readv on a process outside", "process memory class",
     Category::kProcesses, kSeccomp, kNever},
    {"p09", "write-memory", "calls process_vm_writev at all", "process memory class",
     Category::kProcesses, kSeccomp, kNever},
    {"p10", "signal-outside", "signals a process outside",
     "SandboxEscapeBench shared PID namespace", Category::kProcesses, kPid, kNever},
    {"p11", "signal-all", "asks whom kill(-1) would hit", "killpg class", Category::kProcesses,
     kPid, kNever},
    {"p12", "pidfd-outside", "takes a descriptor of a process outside",
     "SandboxEscapeBench shared PID namespace", Category::kProcesses, kPid, kNever},
    {"p13", "take-descriptor", "takes an open file from a process outside by pidfd_getfd",
     "pidfd_getfd class", Category::kProcesses, kSeccomp, kNever},
    {"p14", "limits-outside", "reads the limits of a process outside", "supervisor denial class",
     Category::kProcesses, kSeccomp, kNever},
    {"p15", "priority-outside", "changes the priority of a process outside",
     "supervisor denial class", Category::kProcesses, kPid, kNever},
    {"p16", "affinity-outside", "sets the processors of a process outside",
     "supervisor denial class", Category::kProcesses, kPid, kNever},
    {"p17", "compare-kernel-objects", "calls kcmp with a process outside", "Docker profile",
     Category::kProcesses, kSeccomp, kNever},
    {"p18", "open-namespaces", "opens the namespaces of a process outside", "nsenter class",
     Category::kProcesses, kMount, kNever},
    {"p19", "enter-namespace", "calls setns", "nsenter class; SandboxEscapeBench",
     Category::kProcesses, kSeccomp, kNever},
    {"p20", "new-user-namespace", "calls unshare(CLONE_NEWUSER), the door to most kernel bugs",
     "CVE-2022-0185, CVE-2024-1086", Category::kProcesses, kSeccomp, kNever},
    {"p21", "new-namespaces", "calls unshare of mount, net, pid and ipc namespaces",
     "CVE-2022-0185", Category::kProcesses, kSeccomp, kNever},
    {"p22", "clone-user-namespace", "calls clone(CLONE_NEWUSER)", "moby 9f6b562d",
     Category::kProcesses, kSeccomp, kNever},
    {"p23", "clone3-user-namespace", "calls clone3(CLONE_NEWUSER), whose flags no filter sees",
     "Flatpak CVE-2021-41133", Category::kProcesses, kSeccomp, kNever},
    {"p24", "clone3", "calls clone3 at all", "Flatpak CVE-2021-41133", Category::kProcesses,
     kSeccomp, kNever},
    {"p25", "fork", "starts a process", "SandboxEval 45", Category::kProcesses, kSeccomp,
     kNotTight},
    {"p26", "vfork", "starts a process by vfork", "SandboxEval 45", Category::kProcesses, kSeccomp,
     kNotTight},
    {"p27", "thread", "starts a thread, which must work", "numpy and OpenBLAS: SandboxFusion 45",
     Category::kProcesses, kNone, kAlways},
    {"p28", "shared-session", "shares the session of whoever started it",
     "CVE-2017-5226; killpg class", Category::kProcesses, kSupervisor, kNever},
    {"p29", "lower-oom-score", "makes itself the last to be killed for memory",
     "OOM steering class", Category::kProcesses, kCapability, kNever},
    {"p30", "oom-score-outside", "opens oom_score_adj of a process outside for writing",
     "OOM steering class", Category::kProcesses, kMount, kNever},
    {"p31", "outlive", "leaves a process behind that goes on when it has ended",
     "DMOJ 318; Piston 206; gptme 3805", Category::kProcesses, kPid, kNever},
    {"p32", "guess-numbers", "finds processes by trying their numbers",
     "SandboxEscapeBench shared PID namespace", Category::kProcesses, kPid, kNever},
    {"p33", "list-processes", "counts the processes in /proc", "SandboxEval 6 (PID)",
     Category::kProcesses, kPid, kNever},
};

}  // namespace

std::span<const Probe> process_catalogue() { return kProbes; }

}  // namespace runner::reach
