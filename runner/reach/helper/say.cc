#include "runner/reach/helper/say.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdarg>

namespace reach {
namespace {

enum class Is { kReached, kBlocked };

Said said(Is what, int error, const char* format, va_list args) {
  Said result;
  result.reached = what == Is::kReached;
  result.error = error;
  std::vsnprintf(result.text, sizeof result.text, format, args);
  return result;
}

// Without a map the namespace's owner has all capabilities in it all the same, but no name for
// itself: a sandbox that hides /proc does not stop this.
bool map_ids() {
  char map[64];
  const unsigned uid = ::getuid();
  const unsigned gid = ::getgid();
  if (::unshare(CLONE_NEWUSER) != 0) return false;
  write_file("/proc/self/setgroups", "deny");
  std::snprintf(map, sizeof map, "0 %u 1", uid);
  write_file("/proc/self/uid_map", map);
  std::snprintf(map, sizeof map, "0 %u 1", gid);
  write_file("/proc/self/gid_map", map);
  return true;
}

// Without a child: what `before` and `act` change of this process stays changed.
Said ask_here(Said (*act)(), int (*before)(), const Said& otherwise) {
  if (before != nullptr && before() != 0) return otherwise;
  return act();
}

// The child's answer comes through a pipe; its death without one is no answer. `otherwise` is what
// is said where `before` fails.
Said ask_child(Said (*act)(), int (*before)(), const Said& otherwise) {
  int ends[2];
  if (::pipe(ends) != 0) return ask_here(act, before, otherwise);
  const pid_t child = ::fork();
  if (child == 0) {
    const Said answer = ask_here(act, before, otherwise);
    (void)!::write(ends[1], &answer, sizeof answer);
    ::_exit(0);
  }
  shut(ends[1]);
  Said answer;
  const bool complete = child > 0 && ::read(ends[0], &answer, sizeof answer) == sizeof answer;
  shut(ends[0]);
  if (child < 0) return ask_here(act, before, otherwise);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (complete) return answer;
  return blocked(0, "the child was killed by signal %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

int borrowed_spaces = 0;

int borrow() {
  if (!map_ids()) return errno == 0 ? EPERM : errno;
  return ::unshare(borrowed_spaces) == 0 ? 0 : errno;
}

}  // namespace

Said reached(const char* format, ...) {
  va_list args;
  va_start(args, format);
  const Said result = said(Is::kReached, 0, format, args);
  va_end(args);
  return result;
}

Said blocked(int error, const char* format, ...) {
  va_list args;
  va_start(args, format);
  const Said result = said(Is::kBlocked, error, format, args);
  va_end(args);
  return result;
}

Said looked_at(long result, const char* call) {
  const int error = errno;
  if (result >= 0) return reached("%s succeeded", call);
  if (error == EPERM || error == EACCES || error == ENOSYS) return blocked(error, "%s", call);
  return reached("%s: the kernel looked at it and said %s", call, strerrorname_np(error));
}

Said must_work(long result, const char* call) {
  const int error = errno;
  return result >= 0 ? reached("%s succeeded", call) : blocked(error, "%s", call);
}

const char* given(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Said read_canary(const char* path) {
  const int file = ::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return blocked(errno, "open %s", path);
  char text[128] = "";
  const ssize_t got = ::read(file, text, sizeof text - 1);
  const int error = errno;
  shut(file);
  if (got < 0) return blocked(error, "read %s", path);
  if (std::strstr(text, "CANARY-") == nullptr) return blocked(0, "%s is another file", path);
  return reached("read the canary by %s", path);
}

Said open_it(const char* path, int flags) {
  const int file = ::open(path, flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return blocked(errno, "open %s", path);
  shut(file);
  return reached("opened %s", path);
}

void shut(int fd) { ::syscall(SYS_close, fd); }

bool write_file(const char* path, const char* text) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return false;
  const auto size = static_cast<ssize_t>(std::strlen(text));
  const bool done = ::write(file, text, static_cast<std::size_t>(size)) == size;
  const int error = errno;
  shut(file);
  errno = error;
  return done;
}

int copy_file(const char* from, const char* to) {
  const int in = ::open(from, O_RDONLY | O_CLOEXEC);
  if (in < 0) return errno;
  const int out = ::open(to, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0755);
  int error = out < 0 ? errno : 0;
  char buffer[65536];
  for (ssize_t n = 0; error == 0 && (n = ::read(in, buffer, sizeof buffer)) != 0;)
    if (n < 0 || ::write(out, buffer, static_cast<std::size_t>(n)) != n) error = errno;
  shut(in);
  if (out >= 0) shut(out);
  return error;
}

Said with_borrowed_root(int more, Said (*act)()) {
  borrowed_spaces = more;
  // As we are, first: a sandbox may have left us the capability.
  const Said plain = in_child(act);
  return plain.reached ? plain : ask_child(act, borrow, plain);
}

Said in_child(Said (*act)()) { return ask_child(act, nullptr, {}); }

}  // namespace reach
