// What a jail is: plain data, no pids, no fds, no behaviour. Written by policies/, turned into a
// sealed memfd by plan.h, read by the spawner. Paths are absolute, without "..", without NUL.
// Value types: copyable, comparable where tests need it, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jail/units.h"

namespace jail {

enum class Access : std::uint8_t { kReadOnly, kReadWrite };
enum class Exec : std::uint8_t { kNoExec, kExec };
enum class Presence : std::uint8_t {
  kRequired,
  kOptional
};  // optional: a missing source is skipped

enum class MountKind : std::uint8_t {
  kBind,     // source (host path, recursive) at target; nosuid, nodev
  kDevice,   // source (a device node such as /dev/null) at target; nosuid, noexec
  kTmpfs,    // a fresh tmpfs with size and inodes; nosuid, nodev
  kDir,      // a directory of the read-only root
  kSymlink,  // target -> source (source is the link's text)
  kFile,     // a file of the read-only root with `contents`
  kDevpts,   // a private devpts instance at target
  kMqueue,   // the POSIX message queues of the jail's own ipc namespace
};

// One entry of the jail's tree. Entries are made in order; parents are made as needed (0755).
struct Mount {
  MountKind kind = MountKind::kDir;
  std::string source;
  std::string target;
  std::string contents;
  Access access = Access::kReadOnly;  // kBind, kTmpfs
  Exec exec = Exec::kNoExec;          // kBind, kTmpfs
  Presence presence = Presence::kRequired;
  Bytes size{};               // kTmpfs: size=, > 0
  std::uint64_t inodes = 0;   // kTmpfs: nr_inodes=, > 0
  std::uint32_t mode = 0755;  // kTmpfs, kDir, kFile
  bool operator==(const Mount&) const = default;
};

enum class ProcView : std::uint8_t {
  kNone,     // no /proc at all
  kOwnPids,  // subset=pid,hidepid=invisible: the own processes and nothing host-wide
  kMasked,   // a whole /proc with the host-wide files masked; for a developer's tools
};

enum class Loopback : std::uint8_t { kDown, kUp };

// setrlimit(2). `resource` is RLIMIT_*; values in that resource's unit.
struct Rlimit {
  std::int32_t resource = 0;
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
  bool operator==(const Rlimit&) const = default;
};

// Limits over all processes of the jail together. Zero means "not limited here".
// memory: cgroup memory (tmpfs pages count), else RLIMIT_DATA and sampling by the spawner.
// processes: tasks, init not counted. cpu_time: user + system of all processes.
struct Totals {
  Bytes memory{};
  std::uint64_t processes = 0;
  Millis cpu_time{0};
  bool operator==(const Totals&) const = default;
};

// One comparison on a syscall argument: (arg & mask) OP value, as 64-bit unsigned.
enum class CompareOp : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual
};
struct ArgTest {
  std::uint8_t arg = 0;  // 0..5
  CompareOp op = CompareOp::kEqual;
  std::uint64_t mask = ~0ULL;  // must be ~0 unless op is kEqual
  std::uint64_t value = 0;
  bool operator==(const ArgTest&) const = default;
};

enum class SyscallAction : std::uint8_t {
  kAllow,
  kErrno,   // fails with `error`, unreported
  kNotify,  // denied with EPERM and reported (SECCOMP_RET_USER_NOTIF)
  kKill,    // SIGSYS for the whole process
};

// `tests` are and-ed; several rules for one number are or-ed. No tests: unconditional.
struct SyscallRule {
  std::int32_t number = 0;  // x86-64 number
  SyscallAction action = SyscallAction::kAllow;
  std::uint16_t error = 0;
  std::vector<ArgTest> tests;
  bool operator==(const SyscallRule&) const = default;
};

// Calls of another architecture (i386, x32) kill the process, always.
// A payload's first execve is let through once by the spawner when no rule allows execve; later
// ones are then denied with EPERM and reported, whatever the rules say of execve.
struct SyscallFilter {
  SyscallAction fallback = SyscallAction::kNotify;  // kNotify, kErrno or kKill
  std::uint16_t fallback_error = 1;                 // for kErrno
  std::vector<SyscallRule> rules;
  bool operator==(const SyscallFilter&) const = default;
};

// What the second wall (Landlock) forbids beyond the paths, where the kernel has it.
enum class LandlockNet : std::uint8_t { kDenyTcp, kUnhandled };

// What a payload gets to know of itself.
struct Identity {
  Id uid{1000};  // inside
  Id gid{1000};
};

// How a payload comes into the jail: by execve, or as the child of a prototype that joins it.
enum class Start : std::uint8_t { kExec, kJoin };

struct Spec {
  Start start = Start::kExec;
  std::string hostname = "sandglass";
  Identity identity;
  std::vector<Mount> mounts;
  std::string workdir = "/mnt/data";  // target of one kTmpfs mount; handed out as a directory fd
  std::string code_dir;               // read-only inside, written by init before exec; may be empty
  Bytes code_size = mib(64);          // size limit of code_dir
  ProcView proc = ProcView::kNone;
  Loopback loopback = Loopback::kDown;
  std::vector<Rlimit> rlimits;
  Totals totals;
  SyscallFilter filter;
  LandlockNet landlock_net = LandlockNet::kDenyTcp;
};

// One file to be put into the jail before the payload starts. `path` is absolute and lies below
// code_dir or workdir or another writable tmpfs; mode 0444 and the like. Content comes from an fd
// that is passed beside the command.
struct Input {
  std::string path;
  std::uint32_t mode = 0644;
};

// What runs in a jail. argv[0] without a slash is looked up in env's PATH, inside the jail.
struct Command {
  std::vector<std::string> argv;  // at least one
  std::vector<std::string> env;   // "K=V", exactly these
  std::string cwd = "/mnt/data";
  std::vector<Input> inputs;
};

}  // namespace jail
