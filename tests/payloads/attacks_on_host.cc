// attacks_on_host NAME ARGS...: reaches for a thing outside, or for what does not belong to one.
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "attack.h"

namespace {

using payload::Attack;
using payload::call;
using payload::error_of;

// The file holds the word.
int read_file(const char* path, const char* word) {
  const int file = ::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return errno;
  char text[65536];
  const ssize_t got = ::read(file, text, sizeof text - 1);
  if (got < 0) return errno;
  text[got] = '\0';
  if (word == nullptr) return 0;
  return std::string(text, static_cast<std::size_t>(got)).find(word) != std::string::npos ? 0
                                                                                          : ENODATA;
}

int write_text(const char* path, const char* text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  return error_of(::write(file, text, std::strlen(text)));
}

int create(const char* path) { return error_of(::open(path, O_CREAT | O_EXCL | O_WRONLY, 0644)); }

int connect_to(int domain, const sockaddr* address, socklen_t size) {
  const int fd = ::socket(domain, SOCK_STREAM, 0);
  if (fd < 0) return errno;
  return error_of(::connect(fd, address, size));
}

int connect_tcp(const char* port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect_to(AF_INET, reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

// "@name" is an abstract one.
int connect_unix(const char* name) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, name, sizeof to.sun_path - 1);
  if (name[0] == '@') to.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(name));
  return connect_to(AF_UNIX, reinterpret_cast<const sockaddr*>(&to), size);
}

int open_socket(char** args) {
  return error_of(::socket(std::atoi(args[0]), std::atoi(args[1]), std::atoi(args[2])));
}

int limits_of(const char* pid) {
  rlimit limit{};
  return error_of(::prlimit(std::atoi(pid), RLIMIT_CORE, nullptr, &limit));
}

int affinity_of(const char* pid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return errno;
  return call(SYS_sched_setaffinity, std::atoi(pid), sizeof set, &set);
}

// This very program, written to the workdir.
int copy_of_self(const char* from) {
  const int in = ::open(from, O_RDONLY);
  const int out = ::open("copy", O_CREAT | O_TRUNC | O_WRONLY, 0755);
  char buffer[65536];
  for (ssize_t n = 0; (n = ::read(in, buffer, sizeof buffer)) > 0;)
    if (::write(out, buffer, static_cast<std::size_t>(n)) != n) return errno;
  ::close(out);
  return in < 0 || out < 0 ? ENOENT : 0;
}

int run_copy(const char* from) {
  if (const int error = copy_of_self(from); error != 0) return error;
  char* const argv[] = {const_cast<char*>("copy"), const_cast<char*>("succeed"), nullptr};
  char* const no_environment[] = {nullptr};
  return error_of(::execve("copy", argv, no_environment));
}

int map_copy(const char* from) {
  if (const int error = copy_of_self(from); error != 0) return error;
  const int file = ::open("copy", O_RDONLY);
  return error_of(::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0));
}

int mine(const char* name) { return error_of(::close(::open(name, O_CREAT | O_WRONLY, 0755))); }

int capability_on_file() {
  if (const int error = mine("capable"); error != 0) return error;
  const unsigned data[5] = {0x02000001, 1U << 5U, 0, 0, 0};  // VFS_CAP_REVISION_2, CAP_KILL
  return error_of(::setxattr("capable", "security.capability", data, sizeof data, 0));
}

int with_mine(const char* name, int (*deed)(const char*)) {
  const int error = mine(name);
  return error != 0 ? error : deed(name);
}

constexpr Attack kAttacks[] = {
    {"succeed", [](char**) { return 0; }},
    {"read", [](char** a) { return read_file(a[0], a[1]); }},
    {"list", [](char** a) { return error_of(::open(a[0], O_RDONLY | O_DIRECTORY)); }},
    {"write", [](char** a) { return write_text(a[0], a[1]); }},
    {"open_for_writing", [](char** a) { return error_of(::open(a[0], O_WRONLY | O_NONBLOCK)); }},
    {"create", [](char** a) { return create(a[0]); }},
    {"read_by_symlink",
     [](char** a) {
       const int error = error_of(::symlink(a[0], "link"));
       return error != 0 ? error : read_file("link", a[1]);
     }},
    {"hard_link", [](char** a) { return error_of(::link(a[0], "hard")); }},
    {"kill", [](char** a) { return error_of(::kill(std::atoi(a[0]), 0)); }},
    {"trace",
     [](char** a) { return call(SYS_ptrace, PTRACE_SEIZE, std::atoi(a[0]), nullptr, nullptr); }},
    {"limits_of", [](char** a) { return limits_of(a[0]); }},
    {"affinity_of", [](char** a) { return affinity_of(a[0]); }},
    {"renice", [](char** a) { return call(SYS_setpriority, PRIO_PROCESS, std::atoi(a[0]), 19); }},
    {"pidfd_of", [](char** a) { return call(SYS_pidfd_open, std::atoi(a[0]), 0); }},
    {"connect_tcp", [](char** a) { return connect_tcp(a[0]); }},
    {"connect_unix", [](char** a) { return connect_unix(a[0]); }},
    {"socket", [](char** a) { return open_socket(a); }},
    {"socket_high",
     [](char**) { return call(SYS_socket, (1UL << 32U) | AF_INET, SOCK_STREAM, 0); }},
    {"run_copy", [](char** a) { return run_copy(a[0]); }},
    {"map_copy", [](char** a) { return map_copy(a[0]); }},
    {"set_uid_bit",
     [](char**) {
       return with_mine("suid", [](const char* n) { return error_of(::chmod(n, 04755)); });
     }},
    {"give_to_root",
     [](char**) {
       return with_mine("owned", [](const char* n) { return error_of(::chown(n, 0, 0)); });
     }},
    {"capability_on_file", [](char**) { return capability_on_file(); }},
    {"make_device",
     [](char**) { return error_of(::mknod("null", S_IFCHR | 0666, makedev(1, 3))); }},
    {"open_many",
     [](char**) {
       while (::open("/dev/null", O_RDONLY) >= 0) {
       }
       return errno;
     }},
};

}  // namespace

int main(int argc, char** argv) { return payload::run_attack(kAttacks, argc, argv); }
