// One attempt a line, with what came of it. Argument: a writable folder.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "report.h"

namespace {

using payload::error_of;

void told(const char* attempt, int error) { payload::say(attempt, payload::word(error)); }

// Copies this program into the folder.
std::string copy_of_self(const std::string& folder) {
  std::string copy = folder + "/copy";
  const int from = ::open("/payloads/tries_the_walls", O_RDONLY);
  const int to = ::open(copy.c_str(), O_CREAT | O_WRONLY, 0755);
  char buffer[65536];
  ssize_t n = 0;
  while ((n = ::read(from, buffer, sizeof(buffer))) > 0)
    if (::write(to, buffer, static_cast<std::size_t>(n)) != n) break;
  ::close(from);
  ::close(to);
  return copy;
}

int run(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(path.c_str(), path.c_str(), static_cast<char*>(nullptr));
    ::_exit(errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

int map_for_running(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  return error_of(::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 0;  // the copy
  const std::string folder = argv[1];
  told("write_root", error_of(::open("/new", O_CREAT | O_WRONLY, 0644)));
  told("mkdir_root", error_of(::mkdir("/new", 0755)));
  told("mkdir_etc", error_of(::mkdir("/etc/new", 0755)));
  told("write_payloads", error_of(::open("/payloads/new", O_CREAT | O_WRONLY, 0644)));
  told("unlink_payload", error_of(::unlink("/payloads/tries_the_walls")));
  told("chmod_root", error_of(::chmod("/", 0777)));
  told("write_code", error_of(::open("/run/sandglass/new", O_CREAT | O_WRONLY, 0644)));
  const std::string copy = copy_of_self(folder);
  told("run_copy", run(copy));
  told("map_copy", map_for_running(copy));
  told("map_anonymous",
       error_of(::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
  told("make_device", error_of(::mknod((folder + "/null").c_str(), S_IFCHR | 0666, makedev(1, 3))));
  // mknod(2): a "whiteout", device 0:0, needs no capability: only Landlock is in the way.
  told("make_whiteout", error_of(::mknod((folder + "/w").c_str(), S_IFCHR, makedev(0, 0))));
  told("make_fifo", error_of(::mkfifo((folder + "/fifo").c_str(), 0666)));
  told("set_uid_bit", error_of(::chmod(copy.c_str(), 04755)));
  told("mount", error_of(::mount("none", folder.c_str(), "tmpfs", 0, nullptr)));
  told("unmount", error_of(::umount2(folder.c_str(), MNT_DETACH)));
  told("chroot", error_of(::chroot(folder.c_str())));
  told("ptrace_init", error_of(::ptrace(PTRACE_ATTACH, 1, nullptr, nullptr)));
  told("set_hostname", error_of(::sethostname("x", 1)));
  told("new_user_namespace_mount", [] {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return errno;
    return error_of(::mount("none", "/", "tmpfs", 0, nullptr));
  }());
}
