// What this process finds out about its own confinement, as lines "KEY VALUE...". It changes
// nothing: each system call is tried with arguments that no call can use, in a child of its own.
#include "runner/reach/helper/facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runner/reach/helper/say.h"

namespace reach {
namespace {

struct Number {
  const char* name;
  int value;
};

constexpr Number kLimits[] = {{"core_file", RLIMIT_CORE},
                              {"open_files", RLIMIT_NOFILE},
                              {"file_size", RLIMIT_FSIZE},
                              {"cpu_time_each", RLIMIT_CPU},
                              {"stack", RLIMIT_STACK},
                              {"locked_memory", RLIMIT_MEMLOCK},
                              {"message_queues", RLIMIT_MSGQUEUE},
                              {"pending_signals", RLIMIT_SIGPENDING},
                              {"realtime_priority", RLIMIT_RTPRIO},
                              {"nice", RLIMIT_NICE},
                              {"realtime_time", RLIMIT_RTTIME},
                              {"processes_of_user", RLIMIT_NPROC},
                              {"data_memory", RLIMIT_DATA},
                              {"address_space", RLIMIT_AS}};

constexpr Number kFamilies[] = {
    {"AF_UNIX", AF_UNIX},       {"AF_INET", AF_INET},      {"AF_INET6", AF_INET6},
    {"AF_NETLINK", AF_NETLINK}, {"AF_PACKET", AF_PACKET},  {"AF_VSOCK", AF_VSOCK},
    {"AF_ALG", AF_ALG},         {"AF_KEY", AF_KEY},        {"AF_XDP", AF_XDP},
    {"AF_TIPC", AF_TIPC},       {"AF_CAN", AF_CAN},        {"AF_BLUETOOTH", AF_BLUETOOTH},
    {"AF_RDS", AF_RDS},         {"AF_QIPCRTR", AF_QIPCRTR}};
constexpr Number kTypes[] = {{"stream", SOCK_STREAM},
                             {"datagram", SOCK_DGRAM},
                             {"seqpacket", SOCK_SEQPACKET},
                             {"raw", SOCK_RAW}};

constexpr int kLastCapability = 63;
constexpr int kLastCall = 600;

void capabilities() {
  for (int i = 0; i <= kLastCapability; ++i) {
    if (::prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1) std::printf("bounding %d\n", i);
  }
  struct {
    unsigned version;
    int pid;
  } head{0x20080522, 0};
  struct {
    unsigned effective, permitted, inheritable;
  } data[2]{};
  if (::syscall(SYS_capget, &head, data) != 0) {
    std::puts("unknown capabilities");
    return;
  }
  for (int i = 0; i <= kLastCapability; ++i) {
    if (((data[i / 32].effective >> (i % 32)) & 1U) != 0) std::printf("effective %d\n", i);
  }
}

void sockets() {
  for (const Number& family : kFamilies) {
    for (const Number& type : kTypes) {
      const int fd = ::socket(family.value, type.value | SOCK_CLOEXEC, 0);
      if (fd < 0) continue;
      std::printf("socket %s %s\n", family.name, type.name);
      shut(fd);
    }
  }
}

void limits() {
  for (const Number& limit : kLimits) {
    rlimit now{};
    if (::getrlimit(static_cast<__rlimit_resource>(limit.value), &now) != 0) continue;
    if (now.rlim_max == RLIM_INFINITY) {
      std::printf("limit %s unlimited\n", limit.name);
    } else {
      std::printf("limit %s %llu\n", limit.name, static_cast<unsigned long long>(now.rlim_max));
    }
  }
}

void namespaces() {
  for (const char* name : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    char path[64];
    char text[64]{};
    std::snprintf(path, sizeof path, "/proc/self/ns/%s", name);
    if (::readlink(path, text, sizeof text - 1) > 0) std::printf("namespace %s %s\n", name, text);
  }
}

// Of each mount: its path, its options and its kind. Without a /proc: the top folders.
void mounts() {
  std::FILE* file = std::fopen("/proc/self/mountinfo", "re");
  if (file == nullptr) {
    std::puts("unknown mounts");
    return;
  }
  char line[8192];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    char path[4096];
    char options[1024];
    const char* dash = std::strstr(line, " - ");
    char kind[256];
    if (dash == nullptr || std::sscanf(line, "%*s %*s %*s %*s %4095s %1023s", path, options) != 2 ||
        std::sscanf(dash, " - %255s", kind) != 1)
      continue;
    std::printf("mount %s %s %s %d\n", path, options, kind, ::access(path, W_OK) == 0 ? 1 : 0);
  }
  (void)std::fclose(file);
}

void processes() {
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) {
    std::puts("processes none");
    return;
  }
  int count = 0;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') ++count;
  }
  ::closedir(folder);
  std::printf("processes %d\n", count);
}

void devices() {
  DIR* folder = ::opendir("/dev");
  if (folder == nullptr) return;
  int count = 0;
  while (const dirent* entry = ::readdir(folder)) {
    char path[300];
    std::snprintf(path, sizeof path, "/dev/%s", entry->d_name);
    struct stat about {};
    if (::lstat(path, &about) != 0 || (!S_ISCHR(about.st_mode) && !S_ISBLK(about.st_mode)))
      continue;
    if (++count <= 40) std::printf("device %s\n", path);
  }
  ::closedir(folder);
  if (count > 40) std::printf("device and %d more\n", count - 40);
}

// Those that end or copy the process, wait for ever, reach past it without an argument to spoil, or
// are sure to pass a filter that let this program start.
bool is_left_alone(int number) {
  for (const int other : {SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_vfork, SYS_pause,
                          SYS_vhangup, SYS_sync, SYS_clone, SYS_fork}) {
    if (number == other) return true;
  }
  return false;
}

// The errno of the call; 0: it succeeded; 1000 and a signal's number: it ended the process.
int try_call(int number) {
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    const rlimit none{0, 0};
    (void)::setrlimit(RLIMIT_CORE, &none);
    ::alarm(2);
    // Of the System V calls -1 would be the wish to create something.
    const bool ipc = number == SYS_msgget || number == SYS_semget || number == SYS_shmget;
    const long flags = ipc ? 0 : -1;
    const long result = ::syscall(number, -1L, flags, flags, -1L, -1L, -1L);
    ::_exit(result == -1 ? errno & 0xff : 0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

void calls() {
  for (int number = 0; number <= kLastCall; ++number) {
    if (is_left_alone(number)) continue;
    std::printf("call %d %d\n", number, try_call(number));
    (void)std::fflush(stdout);
  }
}

}  // namespace

int print_facts(Calls wanted) {
  const int mode = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
  std::printf("seccomp %d\n", mode);
  std::printf("no_new_privileges %d\n", ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  capabilities();
  namespaces();
  limits();
  sockets();
  mounts();
  devices();
  processes();
  (void)std::fflush(stdout);
  if (wanted == Calls::kTried || mode != 0) calls();
  std::puts("end facts");
  return 0;
}

}  // namespace reach
