#include "policies/constants.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>

namespace policies {
namespace {

struct Constant {
  std::string_view name;
  std::uint64_t value;
};

constexpr std::uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                      CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// <asm/termbits.h> cannot be included beside <sys/ioctl.h>'s friends; ioctl_tty(2) has the values.
constexpr std::uint64_t kTcgets2 = 0x802C542A;
constexpr std::uint64_t kTcsets2 = 0x402C542B;  // then TCSETSW2 and TCSETSF2
constexpr std::uint64_t kFsGetFlags = 0x80086601;
constexpr std::uint64_t kFiclone = 0x40049409;

#define SAME(name) \
  Constant { #name, static_cast < std::uint64_t>(name) }

constexpr std::array kConstants{
    SAME(CLONE_VM),
    SAME(CLONE_FS),
    SAME(CLONE_FILES),
    SAME(CLONE_SIGHAND),
    SAME(CLONE_THREAD),
    SAME(CLONE_VFORK),
    SAME(CLONE_PARENT),
    SAME(CLONE_PTRACE),
    SAME(CLONE_UNTRACED),
    Constant{"CLONE_NAMESPACES", kNamespaces},
    SAME(PROT_READ),
    SAME(PROT_WRITE),
    SAME(PROT_EXEC),
    SAME(MAP_SHARED),
    SAME(MAP_PRIVATE),
    SAME(MAP_ANONYMOUS),
    SAME(MAP_FIXED),
    SAME(MADV_DONTNEED),
    SAME(MADV_FREE),
    SAME(MADV_HUGEPAGE),
    SAME(S_ISUID),
    SAME(S_ISGID),
    SAME(S_ISVTX),
    SAME(S_IFMT),
    SAME(S_IFIFO),
    SAME(S_IFREG),
    SAME(F_DUPFD),
    SAME(F_GETFD),
    SAME(F_SETFD),
    SAME(F_GETFL),
    SAME(F_SETFL),
    SAME(F_GETLK),
    SAME(F_SETLKW),
    Constant{"F_OFD_GETLK", 36},
    Constant{"F_OFD_SETLKW", 38},
    Constant{"F_NOTIFY", 1026},
    Constant{"F_DUPFD_CLOEXEC", 1030},
    Constant{"F_SETPIPE_SZ", 1031},
    Constant{"F_GETPIPE_SZ", 1032},
    Constant{"F_ADD_SEALS", 1033},
    Constant{"F_GET_SEALS", 1034},
    Constant{"TTY_BLOCK", 0x5400},  // TCGETS .. TIOCSCTTY
    SAME(TCGETS),
    SAME(TIOCGWINSZ),
    SAME(TIOCSWINSZ),
    SAME(TIOCMSET),
    SAME(TIOCPKT),
    SAME(TIOCNOTTY),
    SAME(TIOCGSID),
    SAME(TIOCGPTN),
    SAME(TIOCSPTLCK),
    SAME(TIOCGPTLCK),
    SAME(TIOCGPTPEER),
    SAME(TIOCGEXCL),
    SAME(FIOCLEX),
    SAME(FIONCLEX),
    SAME(FIOASYNC),
    SAME(FIONBIO),
    SAME(FIONREAD),
    SAME(TIOCGPGRP),
    Constant{"TIOCSPGRP_BLOCK", TIOCSPGRP},  // TIOCSPGRP and TIOCOUTQ
    Constant{"TCGETS2", kTcgets2},
    Constant{"TCSETS2", kTcsets2},
    Constant{"TCSETSW2", kTcsets2 + 1},
    Constant{"TCSETSF2", kTcsets2 + 2},
    Constant{"FS_IOC_GETFLAGS", kFsGetFlags},
    Constant{"FICLONE", kFiclone},
    Constant{"SIOC_BLOCK", 0x8900},  // interface and address requests of sockets
    SAME(AF_UNIX),
    SAME(AF_INET),
    SAME(AF_INET6),
    SAME(AF_NETLINK),
    SAME(NETLINK_ROUTE),
    Constant{"SOCK_TYPE_MASK", 0xf},
    SAME(SOCK_STREAM),
    SAME(SOCK_DGRAM),
    SAME(IPPROTO_TCP),
    SAME(IPPROTO_UDP),
    SAME(ARCH_SET_FS),
    SAME(ARCH_SET_GS),
    Constant{"ARCH_BLOCK", 0x1000},      // ARCH_SET_GS .. ARCH_GET_GS
    Constant{"ARCH_CET_BLOCK", 0x3000},  // shadow stack requests
    Constant{"SCHED_OTHER", 0},
    SAME(SCHED_BATCH),
    SAME(SCHED_IDLE),
    SAME(SECCOMP_SET_MODE_FILTER),
    SAME(SECCOMP_GET_ACTION_AVAIL),
    SAME(SECCOMP_FILTER_FLAG_NEW_LISTENER),
    SAME(PR_SET_NAME),
    SAME(PR_GET_NAME),
    SAME(PR_CAPBSET_READ),
    SAME(PR_GET_DUMPABLE),
    SAME(PR_GET_KEEPCAPS),
    SAME(PR_GET_SECUREBITS),
    SAME(PR_GET_NO_NEW_PRIVS),
    SAME(PR_SET_NO_NEW_PRIVS),
    SAME(PR_GET_PDEATHSIG),
    SAME(PR_SET_VMA),
    SAME(PR_SET_MM),
    SAME(PR_SET_CHILD_SUBREAPER),
    SAME(PR_GET_CHILD_SUBREAPER),
    SAME(PR_SET_THP_DISABLE),
    SAME(PR_GET_THP_DISABLE),
    SAME(PR_CAP_AMBIENT),
    SAME(PR_GET_SPECULATION_CTRL),
    SAME(PR_SET_SPECULATION_CTRL),
};

#undef SAME

}  // namespace

std::optional<std::uint64_t> constant(std::string_view name) {
  for (const Constant& c : kConstants)
    if (c.name == name) return c.value;
  return std::nullopt;
}

}  // namespace policies
