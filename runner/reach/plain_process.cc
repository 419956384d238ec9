// One command without a sandbox of ours around it, from start to end.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "jail/error.h"
#include "jail/fd.h"
#include "runner/reach/interrupt.h"
#include "runner/reach/under.h"

namespace runner::reach {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  jail::Fd read;
  jail::Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) {
    return fail(ErrorKind::kHost, "pipe: " + jail::errno_name(errno) + "; raise ulimit -n");
  }
  return Pipe{jail::Fd(fds[0]), jail::Fd(fds[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

class Actions {
 public:
  Actions() { ::posix_spawn_file_actions_init(&value_); }
  ~Actions() { ::posix_spawn_file_actions_destroy(&value_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  Actions(Actions&&) = delete;
  Actions& operator=(Actions&&) = delete;
  posix_spawn_file_actions_t* get() { return &value_; }

 private:
  posix_spawn_file_actions_t value_{};
};

// In a session of its own: a sandbox must not get at our terminal, and one kill reaches all of it.
Result<pid_t> start(const std::vector<std::string>& words, const std::vector<std::string>& env,
                    const jail::Fd& out, const jail::Fd& err) {
  Actions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), out.get(), 1);
  ::posix_spawn_file_actions_adddup2(actions.get(), err.get(), 2);
  posix_spawnattr_t attributes{};
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  sigset_t all;
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, words[0].c_str(), actions.get(), &attributes,
                                   pointers(words).data(), pointers(env).data());
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return fail(ErrorKind::kHost, "cannot start " + words[0] + ": " + jail::errno_name(error));
  }
  return pid;
}

// False at the end of the stream. Keeps the end: a verdict comes last.
bool take(const jail::Fd& from, std::string& into) {
  constexpr std::size_t kKept = std::size_t{256} << 10U;
  std::array<char, 65536> buffer{};
  const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  into.append(buffer.data(), static_cast<std::size_t>(n));
  if (into.size() > 2 * kKept) into.erase(0, into.size() - kKept);
  return n > 0;
}

// Until both streams end, the time is up, or we are told to end.
void read_both(Pipe& out, Pipe& err, Said& said, Clock::time_point deadline) {
  std::array<pollfd, 2> waits{pollfd{out.read.get(), POLLIN, 0}, pollfd{err.read.get(), POLLIN, 0}};
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0 || is_interrupted()) {
      said.in_time = false;
      return;
    }
    const auto glance = static_cast<int>(std::min<std::int64_t>(left, kGlance.count()));
    if (::poll(waits.data(), waits.size(), glance) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0 && !take(out.read, said.out)) waits[0].fd = -1;
    if (waits[1].revents != 0 && !take(err.read, said.err)) waits[1].fd = -1;
  }
}

// Streams may be closed long before; it is not reaped.
bool ends_by(pid_t pid, Clock::time_point deadline) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
         info.si_pid == 0) {
    if (Clock::now() >= deadline || is_interrupted()) return false;
    ::usleep(2000);
  }
  return true;
}

}  // namespace

Result<Said> run_plainly(const std::vector<std::string>& words, const std::vector<std::string>& env,
                         std::chrono::milliseconds limit) {
  auto out = make_pipe();
  if (!out) return tl::unexpected(out.error());
  auto err = make_pipe();
  if (!err) return tl::unexpected(err.error());
  const auto pid = start(words, env, out->write, err->write);
  if (!pid) return tl::unexpected(pid.error());
  out->write.reset();
  err->write.reset();
  Said said;
  const auto deadline = Clock::now() + limit;
  read_both(*out, *err, said, deadline);
  if (said.in_time) said.in_time = ends_by(*pid, deadline);
  // Before it is reaped, so that the number is still its own.
  (void)::kill(-*pid, SIGKILL);
  while (::waitpid(*pid, &said.wait_status, 0) < 0 && errno == EINTR) {
  }
  return said;
}

}  // namespace runner::reach
