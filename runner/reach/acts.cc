#include "runner/reach/acts.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <csignal>

#include "jail/bpf.h"
#include "jail/syscalls.h"

namespace runner::reach {
namespace {

using Args = std::array<std::uint64_t, 6>;

struct Asked {
  const char* name;
  const char* call;
  Args args;
};

constexpr std::uint64_t kThread =
    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kAttach = 16;         // PTRACE_ATTACH
constexpr std::uint64_t kExclusive = 2;       // LOCK_EX
constexpr std::uint64_t kEmptyPath = 0x1000;  // AT_EMPTY_PATH

constexpr std::array kAsked{
    Asked{"start a thread", "clone", {kThread}},
    Asked{"start a process", "clone", {SIGCHLD}},
    Asked{"run a program", "execve", {}},
    Asked{"run a program from memory", "execveat", {0, 0, 0, 0, kEmptyPath}},
    Asked{"make machine code in writable memory",
          "mmap",
          {0, kPage, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS}},
    Asked{"turn data into machine code", "mprotect", {0, kPage, PROT_READ | PROT_EXEC}},
    Asked{"signal a process", "kill", {1, SIGTERM}},
    Asked{"connect a socket", "connect", {}},
    Asked{"type into the terminal", "ioctl", {0, TIOCSTI}},
    Asked{"lock a shared file", "flock", {0, kExclusive}},
    Asked{"watch what others open", "inotify_add_watch", {}},
    Asked{"set a set-user-id bit", "chmod", {0, S_ISUID | 0755}},
    Asked{"make a device node", "mknod", {0, S_IFCHR | 0600}},
    Asked{"make a user namespace", "clone", {CLONE_NEWUSER | SIGCHLD}},
    Asked{"leave for new namespaces", "unshare", {CLONE_NEWUSER | CLONE_NEWNS}},
    Asked{"mount a file system", "mount", {}},
    Asked{"open files by number", "open_by_handle_at", {}},
    Asked{"trace another process", "ptrace", {kAttach, 1}},
    Asked{"read another process's memory", "process_vm_readv", {1}},
    Asked{"make calls that no filter sees", "io_uring_setup", {1}},
    Asked{"load a program into the kernel", "bpf", {}},
    Asked{"use the kernel's key rings", "keyctl", {}},
    Asked{"stop the kernel in a copy", "userfaultfd", {}},
    Asked{"count others' events", "perf_event_open", {}},
    Asked{"load a kernel module", "init_module", {}},
    Asked{"set the clock", "clock_settime", {}},
};

struct Family {
  const char* name;
  int number;
};
constexpr std::array kFamilies{
    Family{"AF_UNIX", AF_UNIX},     Family{"AF_INET", AF_INET},
    Family{"AF_INET6", AF_INET6},   Family{"AF_NETLINK", AF_NETLINK},
    Family{"AF_PACKET", AF_PACKET}, Family{"AF_VSOCK", AF_VSOCK},
    Family{"AF_ALG", AF_ALG},       Family{"AF_KEY", AF_KEY},
    Family{"AF_XDP", AF_XDP},       Family{"AF_TIPC", AF_TIPC},
    Family{"AF_CAN", AF_CAN},       Family{"AF_BLUETOOTH", AF_BLUETOOTH},
    Family{"AF_RDS", AF_RDS},       Family{"AF_QIPCRTR", AF_QIPCRTR},
};

struct Type {
  const char* name;
  int number;
};
constexpr std::array kTypes{Type{"stream", SOCK_STREAM}, Type{"datagram", SOCK_DGRAM},
                            Type{"seqpacket", SOCK_SEQPACKET}, Type{"raw", SOCK_RAW}};

bool lets_through(std::span<const sock_filter> program, const char* call, const Args& args) {
  const auto number = jail::syscall_number(call);
  if (!number) return false;
  seccomp_data data{};
  data.nr = *number;
  data.arch = AUDIT_ARCH_X86_64;
  for (std::size_t i = 0; i < args.size(); ++i) data.args[i] = args[i];
  return (jail::run_filter(program, data) & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ALLOW;
}

}  // namespace

std::vector<Act> acts_under(std::span<const sock_filter> program) {
  std::vector<Act> acts;
  acts.reserve(kAsked.size());
  for (const Asked& asked : kAsked) {
    acts.push_back(
        {asked.name, asked.call,
         lets_through(program, asked.call, asked.args) ? Opening::kOpen : Opening::kClosed});
  }
  return acts;
}

std::vector<SocketFamily> sockets_under(std::span<const sock_filter> program) {
  std::vector<SocketFamily> families;
  for (const Family& family : kFamilies) {
    SocketFamily found{family.name, {}};
    for (const Type& type : kTypes) {
      const Args args{static_cast<std::uint64_t>(family.number),
                      static_cast<std::uint64_t>(type.number)};
      if (lets_through(program, "socket", args)) found.types.emplace_back(type.name);
    }
    if (!found.types.empty()) families.push_back(std::move(found));
  }
  return families;
}

std::vector<Act> all_acts(Opening opening) {
  std::vector<Act> acts;
  acts.reserve(kAsked.size());
  for (const Asked& asked : kAsked) acts.push_back({asked.name, asked.call, opening});
  return acts;
}

}  // namespace runner::reach
