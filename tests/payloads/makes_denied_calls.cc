// Several kinds of denied call: by argument, with a path, with an address, and one with no name.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "report.h"

int main() {
  using payload::error_of;
  using payload::say;
  using payload::word;
  say("inet", word(error_of(::socket(AF_INET, SOCK_STREAM, 0))));
  say("inet", word(error_of(::socket(AF_INET, SOCK_STREAM, 0))));
  say("inet6", word(error_of(::socket(AF_INET6, SOCK_DGRAM, 0))));
  say("mkdir", word(error_of(::mkdir("/mnt/data/folder", 0755))));
  say("mkdir_null", word(error_of(::syscall(SYS_mkdir, nullptr, 0))));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "/mnt/data/s");
  say("connect", word(error_of(::connect(0, reinterpret_cast<sockaddr*>(&address), 13))));
  say("nameless", word(error_of(::syscall(599, 1, 2, 3))));
  say("ptrace", word(error_of(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr))));
}
