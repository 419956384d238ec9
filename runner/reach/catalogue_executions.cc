// Running what was written; locks and watches on files that all sandboxes share.
#include "runner/reach/catalogue_parts.h"

namespace runner::reach {
namespace {

using enum Layer;

constexpr Probe kProbes[] = {
    {"f41", "run-from-workdir", "writes a program to the working folder and runs it",
     "SandboxEval 32 (execute)", Category::kFiles, kMount, kOnlyLoose},
    {"f42", "run-from-tmp", "writes a program to /tmp and runs it", "noexec class",
     Category::kFiles, kMount, kOnlyLoose},
    {"f43", "run-from-shm", "writes a program to /dev/shm and runs it", "noexec class",
     Category::kFiles, kMount, kNever},
    {"f44", "run-from-memory", "writes a program to a memory file and runs it",
     "memfd bypass of noexec; runjail 4", Category::kFiles, kSeccomp, kOnlyLoose},
    {"f45", "map-written-code", "maps a file it has written as code, as a loader does",
     "ld.so bypass (Claude Code, Cursor)", Category::kFiles, kMount, kOnlyLoose},
    {"f46", "run-again", "executes a program that it may read", "SandboxEval 32 (execute)",
     Category::kFiles, kSeccomp, kNotTight},
    {"f47", "lock-shared", "flocks a file that all sandboxes see", "isolate dc4a20f",
     Category::kFiles, kSeccomp, kNotTight},
    {"f48", "lock-record", "takes a record lock on a file that all sandboxes see",
     "isolate dc4a20f", Category::kFiles, kSeccomp, kNotTight},
    {"f50", "lease", "takes a lease on a file of its own", "isolate dc4a20f", Category::kFiles,
     kSeccomp, kOnlyLoose},
    {"f51", "dnotify", "asks to be told who reads a folder that all sandboxes see",
     "covert channel class", Category::kFiles, kSeccomp, kOnlyLoose},
    {"f52", "inotify", "watches who opens what in a folder that all sandboxes see",
     "covert channel class", Category::kFiles, kSeccomp, kOnlyLoose},
    {"f53", "splice-page", "splices a page of a shared file into a pipe",
     "Dirty Pipe CVE-2022-0847 (its first step)", Category::kFiles, kSeccomp, kNotTight},
    {"f54", "write-own-memory", "opens /proc/self/mem for writing",
     "Dirty COW CVE-2016-5195 (its first step)", Category::kFiles, kMount, kNotTight},
};

}  // namespace

std::span<const Probe> execution_catalogue() { return kProbes; }

}  // namespace runner::reach
