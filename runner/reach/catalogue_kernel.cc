// System calls that open more of the kernel than code needs.
#include "runner/reach/catalogue_parts.h"

namespace runner::reach {
namespace {

using enum Layer;

constexpr Probe kProbes[] = {
    {"k01", "bpf-map", "makes a bpf map", "CVE-2021-3490; SandboxEscapeBench eBPF",
     Category::kKernel, kSeccomp, kNever},
    {"k02", "bpf-program", "loads a bpf program of one instruction",
     "CVE-2021-3490; SandboxEscapeBench eBPF", Category::kKernel, kSeccomp, kNever},
    {"k03", "perf-events", "calls perf_event_open", "CVE-2013-2094", Category::kKernel, kSeccomp,
     kNever},
    {"k04", "userfaultfd", "calls userfaultfd, which holds the kernel still in a race",
     "Docker and Chromium deny it", Category::kKernel, kSeccomp, kNever},
    {"k05", "io-uring", "calls io_uring_setup", "Google kCTF 2023; containerd 9048; firejail 7058",
     Category::kKernel, kSeccomp, kNever},
    {"k06", "io-uring-open", "opens a file outside by a ring, without open(2)",
     "containerd 9048; isolate 353385c", Category::kKernel, kSeccomp, kNever},
    {"k07", "keyring-write", "keeps a key in the user's keyring", "isolate dc4a20f",
     Category::kKernel, kSeccomp, kNever},
    {"k08", "keyctl", "calls keyctl", "CVE-2016-0728; Docker denies it", Category::kKernel,
     kSeccomp, kNever},
    {"k09", "request-key", "calls request_key, which may start a program on the host",
     "Docker denies it", Category::kKernel, kSeccomp, kNever},
    {"k10", "memfd-secret", "makes memory that is hidden from the kernel itself",
     "Docker denies it", Category::kKernel, kSeccomp, kNever},
    {"k11", "writable-code", "makes memory that is writable and executable at once",
     "sandbox2 and gVisor forbid it", Category::kKernel, kSeccomp, kNotTight},
    {"k12", "code-from-data", "makes memory it has written executable",
     "sandbox2 and gVisor forbid it", Category::kKernel, kSeccomp, kNotTight},
    {"k13", "i386-call", "makes a call through the 32-bit gate int 0x80",
     "firejail; sandbox2 AMD64Syscall32", Category::kKernel, kSeccomp, kNever},
    {"k14", "i386-open", "opens a file outside through int 0x80",
     "seccomp filters for one architecture", Category::kKernel, kSeccomp, kNever},
    {"k15", "x32-call", "makes a call with x32's bit", "CVE-2014-0038; firejail", Category::kKernel,
     kSeccomp, kNever},
    {"k16", "unnamed-call", "calls a number that has no name", "default-allow filters",
     Category::kKernel, kSeccomp, kNever},
    {"k17", "high-bits",
     "passes an argument whose upper half the kernel ignores and a filter might not",
     "CVE-2019-10063", Category::kKernel, kSeccomp, kNever},
    {"k18", "no-randomisation", "calls personality(ADDR_NO_RANDOMIZE)",
     "sandbox2; Docker's argument filter", Category::kKernel, kSeccomp, kNever},
    {"k19", "vsyscall", "calls the vsyscall page, at an address that never changes",
     "seccomp(2) on vsyscall", Category::kKernel, kSeccomp, kNotTight},
    {"k20", "vmsplice", "calls vmsplice", "CVE-2008-0600", Category::kKernel, kSeccomp, kNever},
    {"k21", "remap-file-pages", "calls remap_file_pages", "Chromium denies it", Category::kKernel,
     kSeccomp, kNever},
    {"k22", "mbind", "calls mbind", "Docker denies it", Category::kKernel, kSeccomp, kNever},
    {"k23", "move-pages", "calls move_pages, which tells where memory lies", "CVE-2017-14140",
     Category::kKernel, kSeccomp, kNever},
    {"k24", "fanotify", "calls fanotify_init", "Docker denies it", Category::kKernel, kSeccomp,
     kNever},
    {"k25", "memory-file-call", "calls memfd_create", "runjail 4", Category::kKernel, kSeccomp,
     kOnlyLoose},
    {"k26", "shared-memory", "makes System V shared memory", "CVE-2017-5669 class",
     Category::kKernel, kSeccomp, kOnlyLoose},
    {"k27", "message-queue", "makes a message queue, which is memory of the kernel's",
     "CVE-2017-11176", Category::kKernel, kSeccomp, kOnlyLoose},
    {"k28", "process-madvise", "calls process_madvise", "Docker denies it", Category::kKernel,
     kSeccomp, kNever},
    {"k29", "process-mrelease", "calls process_mrelease", "Docker denies it", Category::kKernel,
     kSeccomp, kNever},
    {"k30", "old-aio", "calls io_setup, the older asynchronous I/O", "CVE-2016-10044",
     Category::kKernel, kSeccomp, kNever},
};

}  // namespace

std::span<const Probe> kernel_catalogue() { return kProbes; }

}  // namespace runner::reach
