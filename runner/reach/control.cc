#include "runner/reach/control.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "runner/reach/fetch.h"
#include "runner/reach/interrupt.h"

extern char** environ;

namespace runner::reach {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{50};
constexpr std::size_t kKept = std::size_t{64} << 10U;
constexpr int kPlanFd = 700;  // beyond what probes look at
constexpr int kHelperFd = 701;
constexpr int kMemoryExit = 137;

struct Pipe {
  jail::Fd read;
  jail::Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorKind::kHost,
                "cannot make a pipe: " + jail::errno_name(errno) + "; raise ulimit -n");
  return Pipe{jail::Fd(ends[0]), jail::Fd(ends[1])};
}

const char* word_of(Layer layer) {
  switch (layer) {
    case Layer::kSeccomp:
      return "seccomp";
    case Layer::kMount:
      return "mount";
    case Layer::kPid:
      return "pid";
    case Layer::kNet:
      return "net";
    case Layer::kUser:
      return "user";
    case Layer::kCapability:
      return "capability";
    case Layer::kLandlock:
      return "landlock";
    case Layer::kRlimit:
      return "rlimit";
    case Layer::kOther:
      return "other";
    default:
      return "none";
  }
}

std::string joined(const std::vector<Layer>& layers) {
  std::string text;
  for (const Layer layer : layers) text += (text.empty() ? "" : ",") + std::string(word_of(layer));
  return text.empty() ? "none" : text;
}

bool has(const std::vector<Layer>& layers, Layer layer) {
  return std::find(layers.begin(), layers.end(), layer) != layers.end();
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

struct Spawned {
  pid_t pid = -1;
  int error = 0;
};

struct Streams {
  Pipe in;
  Pipe out;
  Pipe err;
};

Result<Streams> make_streams() {
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  for (const auto* pipe : {&in, &out, &err})
    if (!*pipe) return tl::unexpected(pipe->error());
  constexpr std::string_view kInput = "the input of our caller\n";
  (void)!::write(in->write.get(), kInput.data(), kInput.size());
  in->write.reset();
  return Streams{std::move(*in), std::move(*out), std::move(*err)};
}

// In a process group of its own, with default signals; whatever we have left open comes along.
Spawned spawn(std::vector<std::string> words, std::vector<std::string> env, const Streams& streams,
              int plan, int helper) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, streams.in.read.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, streams.out.write.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, streams.err.write.get(), 2);
  if (plan >= 0) ::posix_spawn_file_actions_adddup2(&actions, plan, kPlanFd);
  if (helper >= 0) ::posix_spawn_file_actions_adddup2(&actions, helper, kHelperFd);
  sigset_t signals;
  ::sigfillset(&signals);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  ::sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  Spawned spawned;
  spawned.error = ::posix_spawn(&spawned.pid, words[0].c_str(), &actions, &attributes,
                                pointers(words).data(), pointers(env).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return spawned;
}

// Keeps the end: a verdict comes last.
bool take(const jail::Fd& from, std::string& into) {
  std::array<char, 65536> buffer;
  const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
  if (n <= 0) return n < 0 && errno == EINTR;
  into.append(buffer.data(), static_cast<std::size_t>(n));
  if (into.size() > 2 * kKept) into.erase(0, into.size() - kKept);
  return true;
}

// Until both have ended, as a careless supervisor waits, but not for ever.
void read_both(Streams& streams, Answer& answer) {
  const auto until = Clock::now() + kPatience;
  while (streams.out.read.valid() || streams.err.read.valid()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0 || is_interrupted()) return;
    std::array<pollfd, 2> wait{pollfd{streams.out.read.get(), POLLIN, 0},
                               pollfd{streams.err.read.get(), POLLIN, 0}};
    const auto glance = static_cast<int>(std::min(left, kGlance).count());
    if (::poll(wait.data(), wait.size(), glance) < 0 && errno != EINTR) return;
    if (wait[0].revents != 0 && !take(streams.out.read, answer.out)) streams.out.read.reset();
    if (wait[1].revents != 0 && !take(streams.err.read, answer.err)) streams.err.read.reset();
  }
}

// The group goes while its number is still its own; then the process is reaped.
void finish(pid_t pid, Answer& answer) {
  const auto until = Clock::now() + std::chrono::seconds(2);
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
         info.si_pid == 0 && Clock::now() < until && !is_interrupted())
    ::usleep(2000);
  ::kill(-pid, SIGKILL);
  while (::waitpid(pid, &answer.wait_status, 0) < 0 && errno == EINTR) {
  }
  answer.exited = true;
  if (WIFSIGNALED(answer.wait_status)) {
    const int signal = WTERMSIG(answer.wait_status);
    if (signal == SIGXCPU || signal == SIGXFSZ) answer.ended_by = Layer::kRlimit;
  }
}

}  // namespace

Control::Control(const Outside& outside, const JailPlans* plans, std::string program,
                 jail::Fd helper)
    : outside_(outside), plans_(plans), program_(std::move(program)), helper_(std::move(helper)) {}

Result<std::unique_ptr<Control>> Control::make(const Outside& outside, const JailPlans* plans) {
  auto program = layers_path();
  if (!program) return tl::unexpected(program.error());
  jail::Fd helper(::open(outside.helper().c_str(), O_RDONLY | O_CLOEXEC));
  if (!helper.valid())
    return fail(ErrorKind::kFiles,
                "cannot open " + outside.helper() + ": " + jail::errno_name(errno));
  return std::make_unique<Control>(outside, plans, std::move(*program), std::move(helper));
}

Answer Control::run_behind(const Attempt& attempt, const std::vector<Layer>& layers) {
  const Probe& probe = *attempt.probe;
  const auto folder = outside_.work_folder(attempt.tag);
  if (!folder) return failed(folder.error());
  const bool by_helper = probe.by != By::kPython;
  const bool planned = !layers.empty() && plans_ != nullptr;
  const std::string seen = has(layers, Layer::kMount) ? kHelperInside : outside_.helper();
  std::vector<std::string> words = {program_,
                                    std::to_string(outside_.uid()),
                                    *folder,
                                    joined(layers),
                                    std::to_string(planned ? kPlanFd : -1),
                                    std::to_string(by_helper ? kHelperFd : -1),
                                    "--"};
  for (std::string& word : plain_command(seen, probe)) words.push_back(std::move(word));
  std::vector<std::string> env;
  for (char** entry = environ; *entry != nullptr; ++entry) env.emplace_back(*entry);
  for (const std::string& assignment : attempt.env)
    env.push_back(assignment.starts_with("REACH_SELF=") ? "REACH_SELF=" + seen : assignment);

  auto streams = make_streams();
  if (!streams) return failed(streams.error());
  const Spawned spawned =
      spawn(std::move(words), std::move(env), *streams, planned ? plans_->of(probe).plan.get() : -1,
            by_helper ? helper_.get() : -1);
  streams->in.read.reset();
  streams->out.write.reset();
  streams->err.write.reset();
  Answer answer;
  if (spawned.error == 0) {
    read_both(*streams, answer);
    finish(spawned.pid, answer);
    if (WIFEXITED(answer.wait_status) && WEXITSTATUS(answer.wait_status) == kMemoryExit)
      answer.ended_by = Layer::kCgroup;  // who goes by exit codes takes it for that
    if (probe.by == By::kHost) answer.leaked = fetch_carelessly(*folder);
  } else {
    answer.error = Error{
        ErrorKind::kFiles, "cannot start " + program_ + ": " + jail::errno_name(spawned.error), {}};
  }
  outside_.remove(*folder);
  return answer;
}

}  // namespace runner::reach
