#include "runner/session/syscall_args.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cstdio>
#include <span>
#include <string_view>

#include "runner/session/outcome.h"
#include "runner/text.h"

namespace runner {
namespace {

struct Name {
  std::uint64_t value;
  std::string_view text;
};

#define SANDGLASS_NAME(constant) \
  Name { static_cast<std::uint64_t>(constant), #constant }

constexpr std::array kFamilies = {
    SANDGLASS_NAME(AF_UNSPEC),    SANDGLASS_NAME(AF_UNIX),    SANDGLASS_NAME(AF_INET),
    SANDGLASS_NAME(AF_INET6),     SANDGLASS_NAME(AF_NETLINK), SANDGLASS_NAME(AF_PACKET),
    SANDGLASS_NAME(AF_ALG),       SANDGLASS_NAME(AF_VSOCK),   SANDGLASS_NAME(AF_XDP),
    SANDGLASS_NAME(AF_BLUETOOTH), SANDGLASS_NAME(AF_CAN),     SANDGLASS_NAME(AF_KEY),
    SANDGLASS_NAME(AF_RDS),       SANDGLASS_NAME(AF_TIPC),    SANDGLASS_NAME(AF_QIPCRTR)};
constexpr std::array kSocketTypes = {Name{1, "SOCK_STREAM"},    Name{2, "SOCK_DGRAM"},
                                     Name{3, "SOCK_RAW"},       Name{4, "SOCK_RDM"},
                                     Name{5, "SOCK_SEQPACKET"}, Name{10, "SOCK_PACKET"}};
constexpr std::array kCloneFlags = {
    SANDGLASS_NAME(CLONE_NEWUSER),   SANDGLASS_NAME(CLONE_NEWNS),  SANDGLASS_NAME(CLONE_NEWPID),
    SANDGLASS_NAME(CLONE_NEWNET),    SANDGLASS_NAME(CLONE_NEWIPC), SANDGLASS_NAME(CLONE_NEWUTS),
    SANDGLASS_NAME(CLONE_NEWCGROUP), SANDGLASS_NAME(CLONE_THREAD), SANDGLASS_NAME(CLONE_VM),
    SANDGLASS_NAME(CLONE_VFORK),     SANDGLASS_NAME(CLONE_FS),     SANDGLASS_NAME(CLONE_FILES),
    SANDGLASS_NAME(CLONE_SIGHAND),   SANDGLASS_NAME(CLONE_PARENT), SANDGLASS_NAME(CLONE_PTRACE),
    SANDGLASS_NAME(CLONE_UNTRACED)};
// Bookkeeping for the C library: says nothing about what was wanted.
constexpr std::uint64_t kQuietCloneFlags = CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID |
                                           CLONE_PARENT_SETTID | CLONE_SETTLS | CLONE_SYSVSEM |
                                           CLONE_DETACHED;
constexpr std::array kOpenFlags = {SANDGLASS_NAME(O_CREAT),     SANDGLASS_NAME(O_EXCL),
                                   SANDGLASS_NAME(O_TRUNC),     SANDGLASS_NAME(O_APPEND),
                                   SANDGLASS_NAME(O_DIRECTORY), SANDGLASS_NAME(O_NOFOLLOW),
                                   Name{010000000, "O_PATH"}};
constexpr std::array kProtections = {SANDGLASS_NAME(PROT_READ), SANDGLASS_NAME(PROT_WRITE),
                                     SANDGLASS_NAME(PROT_EXEC)};
constexpr std::array kPrctls = {
    SANDGLASS_NAME(PR_SET_PDEATHSIG),    SANDGLASS_NAME(PR_SET_DUMPABLE),
    SANDGLASS_NAME(PR_GET_DUMPABLE),     SANDGLASS_NAME(PR_SET_KEEPCAPS),
    SANDGLASS_NAME(PR_SET_NAME),         SANDGLASS_NAME(PR_GET_NAME),
    SANDGLASS_NAME(PR_SET_SECCOMP),      SANDGLASS_NAME(PR_GET_SECCOMP),
    SANDGLASS_NAME(PR_CAPBSET_READ),     SANDGLASS_NAME(PR_CAPBSET_DROP),
    SANDGLASS_NAME(PR_SET_SECUREBITS),   SANDGLASS_NAME(PR_GET_SECUREBITS),
    SANDGLASS_NAME(PR_SET_TIMERSLACK),   SANDGLASS_NAME(PR_SET_MM),
    SANDGLASS_NAME(PR_SET_PTRACER),      SANDGLASS_NAME(PR_SET_CHILD_SUBREAPER),
    SANDGLASS_NAME(PR_SET_NO_NEW_PRIVS), SANDGLASS_NAME(PR_SET_THP_DISABLE),
    SANDGLASS_NAME(PR_CAP_AMBIENT),      SANDGLASS_NAME(PR_SET_SPECULATION_CTRL),
    SANDGLASS_NAME(PR_SET_VMA)};
constexpr std::array kIoctls = {
    SANDGLASS_NAME(TIOCSTI),         SANDGLASS_NAME(TIOCLINUX),    SANDGLASS_NAME(TIOCSCTTY),
    SANDGLASS_NAME(TIOCNOTTY),       SANDGLASS_NAME(TIOCSETD),     SANDGLASS_NAME(TIOCSPGRP),
    SANDGLASS_NAME(TIOCGPGRP),       SANDGLASS_NAME(TIOCGWINSZ),   SANDGLASS_NAME(TIOCSWINSZ),
    SANDGLASS_NAME(TCGETS),          SANDGLASS_NAME(TCSETS),       SANDGLASS_NAME(FIONREAD),
    SANDGLASS_NAME(FIONBIO),         SANDGLASS_NAME(FIOCLEX),      Name{0x8912, "SIOCGIFCONF"},
    Name{0x8913, "SIOCGIFFLAGS"},    Name{0x8914, "SIOCSIFFLAGS"}, Name{0x8927, "SIOCGIFHWADDR"},
    Name{0x6601, "FS_IOC_GETFLAGS"}, Name{0x40049409, "FICLONE"}};
constexpr std::array kPtrace = {
    Name{PTRACE_TRACEME, "PTRACE_TRACEME"},   Name{PTRACE_PEEKTEXT, "PTRACE_PEEKTEXT"},
    Name{PTRACE_PEEKDATA, "PTRACE_PEEKDATA"}, Name{PTRACE_POKETEXT, "PTRACE_POKETEXT"},
    Name{PTRACE_POKEDATA, "PTRACE_POKEDATA"}, Name{PTRACE_CONT, "PTRACE_CONT"},
    Name{PTRACE_ATTACH, "PTRACE_ATTACH"},     Name{PTRACE_SEIZE, "PTRACE_SEIZE"}};
constexpr std::array kResources = {
    Name{RLIMIT_AS, "RLIMIT_AS"},         Name{RLIMIT_CORE, "RLIMIT_CORE"},
    Name{RLIMIT_CPU, "RLIMIT_CPU"},       Name{RLIMIT_DATA, "RLIMIT_DATA"},
    Name{RLIMIT_FSIZE, "RLIMIT_FSIZE"},   Name{RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK"},
    Name{RLIMIT_NOFILE, "RLIMIT_NOFILE"}, Name{RLIMIT_NPROC, "RLIMIT_NPROC"},
    Name{RLIMIT_RTPRIO, "RLIMIT_RTPRIO"}, Name{RLIMIT_STACK, "RLIMIT_STACK"}};
constexpr std::array kArchPrctls = {SANDGLASS_NAME(ARCH_SET_GS), SANDGLASS_NAME(ARCH_SET_FS),
                                    SANDGLASS_NAME(ARCH_GET_FS), SANDGLASS_NAME(ARCH_GET_GS),
                                    Name{0x1012, "ARCH_SET_CPUID"}};
constexpr std::array kKeyctls = {
    SANDGLASS_NAME(KEYCTL_GET_KEYRING_ID), SANDGLASS_NAME(KEYCTL_JOIN_SESSION_KEYRING),
    SANDGLASS_NAME(KEYCTL_UPDATE),         SANDGLASS_NAME(KEYCTL_REVOKE),
    SANDGLASS_NAME(KEYCTL_DESCRIBE),       SANDGLASS_NAME(KEYCTL_LINK),
    SANDGLASS_NAME(KEYCTL_SEARCH),         SANDGLASS_NAME(KEYCTL_READ)};
constexpr std::array kFcntls = {SANDGLASS_NAME(F_SETOWN),   SANDGLASS_NAME(F_SETLK),
                                SANDGLASS_NAME(F_SETLKW),   Name{36, "F_OFD_GETLK"},
                                Name{37, "F_OFD_SETLK"},    Name{38, "F_OFD_SETLKW"},
                                Name{1024, "F_SETLEASE"},   Name{1026, "F_NOTIFY"},
                                Name{1031, "F_SETPIPE_SZ"}, Name{1033, "F_ADD_SEALS"}};

#undef SANDGLASS_NAME

// The kernel takes these as int: the upper half of the register is noise.
std::uint64_t low(std::uint64_t value) { return value & 0xFFFFFFFFU; }

std::string hex(std::uint64_t value) {
  std::array<char, 24> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "0x%llx", static_cast<unsigned long long>(value));
  return buffer.data();
}

std::string number(std::uint64_t value) {
  return std::to_string(static_cast<std::int32_t>(low(value)));
}

std::string named(std::span<const Name> names, std::uint64_t value) {
  for (const Name& name : names) {
    if (name.value == value) return std::string(name.text);
  }
  return value < 4096 ? std::to_string(value) : hex(value);
}

void add(std::string& list, std::string_view item, std::string_view separator) {
  if (item.empty()) return;
  if (!list.empty()) list += separator;
  list += item;
}

std::string flags(std::span<const Name> names, std::uint64_t value) {
  std::string text;
  for (const Name& name : names) {
    if (name.value == 0 || (value & name.value) != name.value) continue;
    add(text, name.text, "|");
    value &= ~name.value;
  }
  if (value != 0) add(text, hex(value), "|");
  return text.empty() ? "0" : text;
}

std::string quoted(std::string_view text) {
  return text.empty() ? std::string() : '"' + printable(text) + '"';
}

std::string clone_text(std::uint64_t value) {
  constexpr std::uint64_t kExitSignal = 0xFF;
  const std::uint64_t signal = value & kExitSignal;
  const std::uint64_t telling = value & ~kExitSignal & ~kQuietCloneFlags;
  std::string text = telling != 0 ? flags(kCloneFlags, telling) : std::string();
  if (signal != 0) add(text, signal_text(static_cast<int>(signal)), "|");
  return text;
}

std::string open_text(std::uint64_t value) {
  static constexpr std::array<std::string_view, 4> kModes = {"O_RDONLY", "O_WRONLY", "O_RDWR",
                                                             "O_ACCMODE"};
  std::string text(kModes.at(value & O_ACCMODE));
  for (const Name& name : kOpenFlags) {
    if ((value & name.value) == name.value) add(text, name.text, "|");
  }
  constexpr std::uint64_t kTmpFile = 020000000;
  if ((value & kTmpFile) != 0) add(text, "O_TMPFILE", "|");
  return text;
}

std::string socket_text(const jail::Denied& call) {
  std::string text = named(kFamilies, low(call.args[0]));
  constexpr std::uint64_t kTypeMask = 0xF;
  add(text, named(kSocketTypes, low(call.args[1]) & kTypeMask), ", ");  // without SOCK_CLOEXEC
  if (low(call.args[2]) != 0) add(text, "protocol " + number(call.args[2]), ", ");
  return text;
}

std::string with_text(const jail::Denied& call, const std::string& item) {
  std::string text = quoted(call.text);
  add(text, item, ", ");
  return text;
}

std::string mode_text(std::uint64_t mode) {
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "0%o", static_cast<unsigned>(mode & 07777U));
  return buffer.data();
}

std::string signal_arg(std::uint64_t value) {
  return low(value) == 0 ? "0" : signal_text(static_cast<int>(low(value)));
}

// Calls about processes, privileges and memory.
std::string process_text(const jail::Denied& call) {
  const auto& args = call.args;
  switch (call.number) {
    case SYS_clone:
      return clone_text(args[0]);
    case SYS_unshare:
      return flags(kCloneFlags, args[0] & ~kQuietCloneFlags);
    case SYS_setns:
      return "fd " + number(args[0]) + ", " + flags(kCloneFlags, low(args[1]));
    case SYS_kill:
    case SYS_tkill:
      return "pid " + number(args[0]) + ", " + signal_arg(args[1]);
    case SYS_tgkill:
      return "pid " + number(args[0]) + ", " + signal_arg(args[2]);
    case SYS_pidfd_send_signal:
      return signal_arg(args[1]);
    case SYS_prctl:
      return named(kPrctls, low(args[0]));
    case SYS_arch_prctl:
      return named(kArchPrctls, low(args[0]));
    case SYS_ptrace:
      return named(kPtrace, args[0]) + ", pid " + number(args[1]);
    case SYS_prlimit64:
      return "pid " + number(args[0]) + ", " + named(kResources, low(args[1]));
    case SYS_setrlimit:
    case SYS_getrlimit:
      return named(kResources, low(args[0]));
    case SYS_mmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      return flags(kProtections, args[2]);
    case SYS_personality:
      return hex(low(args[0]));
    case SYS_keyctl:
      return named(kKeyctls, low(args[0]));
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setfsuid:
    case SYS_setfsgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_bpf:
    case SYS_seccomp:
    case SYS_pidfd_open:
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
    case SYS_io_uring_setup:
      return number(args[0]);
    default:
      return quoted(call.text);
  }
}

}  // namespace

std::string describe_args(const jail::Denied& call) {
  const auto& args = call.args;
  switch (call.number) {
    case SYS_socket:
    case SYS_socketpair:
      return socket_text(call);
    case SYS_open:
      return with_text(call, open_text(args[1]));
    case SYS_openat:
      return with_text(call, open_text(args[2]));
    case SYS_ioctl:
      return named(kIoctls, low(args[1]));
    case SYS_fcntl:
      return named(kFcntls, low(args[1]));
    case SYS_setsockopt:
    case SYS_getsockopt:
      return "level " + number(args[1]) + ", option " + number(args[2]);
    case SYS_chmod:
    case SYS_mkdir:
    case SYS_creat:
      return with_text(call, mode_text(args[1]));
    case SYS_fchmodat:
    case SYS_mkdirat:
      return with_text(call, mode_text(args[2]));
    case SYS_mknod:
      return with_text(call, mode_text(args[1]));
    case SYS_mknodat:
      return with_text(call, mode_text(args[2]));
    default:
      return process_text(call);
  }
}

}  // namespace runner
