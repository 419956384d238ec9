#include "jail/payload.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace jail {
namespace {

[[noreturn]] void give_up(const Fd& report, const SetupError& error) {
  ChildReport message;
  message.error = error;
  (void)!::write(report.get(), &message, sizeof(message));
  ::_exit(125);
}

void reset_signals() {
  // execve(2) keeps ignored signals ignored and the mask as it is: start from a clean slate. The
  // raw call, since glibc's refuses the two signals it uses itself; all zero is SIG_DFL.
  constexpr std::array<unsigned long, 4> kDefault{};
  for (int s = 1; s < NSIG; ++s)
    ::syscall(SYS_rt_sigaction, s, kDefault.data(), nullptr, sizeof(unsigned long));
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

const char* search_path(char* const* env) {
  for (; *env != nullptr; ++env)
    if (std::strncmp(*env, "PATH=", 5) == 0) return *env + 5;
  return "/usr/local/bin:/usr/bin:/bin";
}

// 0, or why this file can't be run. faccessat(2) honours no file capability, and none counts here.
int runnable(const char* path) {
  struct stat st {};
  if (::stat(path, &st) != 0) return errno;
  if (S_ISDIR(st.st_mode)) return EACCES;
  return ::access(path, X_OK) == 0 ? 0 : errno;
}

// As execvp(3) searches, but before the filter is on: under a filter that lets one execve
// through, there is one try. 0, or ENOENT / EACCES.
int find_program(const char* name, char* const* env, std::array<char, PATH_MAX>& found) {
  if (std::strchr(name, '/') != nullptr) {
    if (std::strlen(name) >= found.size()) return ENAMETOOLONG;
    std::strcpy(found.data(), name);
    return runnable(name);
  }
  int error = ENOENT;
  const char* p = search_path(env);
  while (*name != '\0') {
    const char* end = std::strchr(p, ':');
    const int length =
        end != nullptr ? static_cast<int>(end - p) : static_cast<int>(std::strlen(p));
    const int n = std::snprintf(found.data(), found.size(), "%.*s/%s", length, p, name);
    if (n > 0 && static_cast<std::size_t>(n) < found.size()) {
      const int e = runnable(found.data());
      if (e == 0) return 0;
      if (e == EACCES) error = EACCES;
    }
    if (end == nullptr) break;
    p = end + 1;
  }
  return error;
}

// After the filter: only read, write, execve, exit_group.
[[noreturn]] void hand_over(const char* program, const CommandView& command, const Fd& report,
                            const Fd& go, int listener) {
  if (listener >= 0) {
    ChildReport message;
    message.listener = listener;
    char byte = 0;
    const bool told = ::write(report.get(), &message, sizeof(message)) == sizeof(message);
    if (!told || ::read(go.get(), &byte, 1) != 1) ::_exit(125);
  }
  ::execve(program, command.argv(), command.env());
  give_up(report, SetupError{Step::kExec, 0, errno});
}

}  // namespace

void run_payload(const PlanView& plan, const CommandView& command, const JailFacts& facts,
                 const Fd& landlock, PayloadFds fds) {
  // The pipes must survive the shuffling of 0..2.
  const Fd report(::fcntl(fds.report.get(), F_DUPFD_CLOEXEC, 20));
  const Fd go(::fcntl(fds.go.get(), F_DUPFD_CLOEXEC, 20));
  if (!report.valid() || !go.valid()) ::_exit(125);
  reset_signals();
  if (const auto r = arrange(fds.in, fds.out, fds.err, command.cwd()); !r)
    give_up(report, r.error());
  std::array<char, PATH_MAX> program;
  if (const int e = find_program(command.argv()[0], command.env(), program); e != 0)
    give_up(report, SetupError{Step::kExec, 0, e});
  if (const auto r = restrict_self(plan, facts, landlock); !r) give_up(report, r.error());
  const auto listener = filter_self(plan);
  if (!listener) give_up(report, listener.error());
  hand_over(program.data(), command, report, go, *listener);
}

}  // namespace jail
