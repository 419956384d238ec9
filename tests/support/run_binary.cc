#include "tests/support/run_binary.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace support {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr int kBroken = 99;  // the exit status of a child that could not get to its work

struct Pipe {
  jail::Fd read;
  jail::Fd write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  return {jail::Fd(ends[0]), jail::Fd(ends[1])};
}

std::vector<std::string> environment_of(const Call& call) {
  std::vector<std::string> env = call.env;
  for (const char* name : {"PATH", "HOME", "TMPDIR"}) {
    if (const char* value = std::getenv(name)) env.push_back(std::string(name) + "=" + value);
  }
  return env;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

int code_of(int status) { return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status); }

// True while there may be more.
bool take(jail::Fd& from, std::string& into) {
  std::array<char, 65536> buffer{};
  const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) {
    from.reset();
    return false;
  }
  into.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

void write_file(const char* path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text << std::flush)) ::_exit(kBroken);
}

}  // namespace

std::string sandglass_path() {
  const char* path = std::getenv("SANDGLASS_BIN");
  if (path == nullptr) throw std::runtime_error("SANDGLASS_BIN is not set; run by ctest");
  return path;
}

std::string payloads_path() {
  const std::string path = sandglass_path();
  return path.substr(0, path.rfind('/')) + "/payloads";
}

Child::Child(const Call& call, Input input)
    : patience_(call.patience), hold_(input), input_(call.input) {
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  std::vector<std::string> words = {call.program.empty() ? sandglass_path() : call.program};
  words.insert(words.end(), call.args.begin(), call.args.end());
  std::vector<std::string> env = environment_of(call);
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(env);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) {
    ::dup2(in.read.get(), 0);
    ::dup2(out.write.get(), 1);
    ::dup2(err.write.get(), 2);
    if (!call.cwd.empty() && ::chdir(call.cwd.c_str()) != 0) ::_exit(kBroken);
    if (call.before_exec) call.before_exec();
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(kBroken);
  }
  in_ = std::move(in.write);
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  for (const jail::Fd* fd : {&in_, &out_, &err_}) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  (void)std::signal(SIGPIPE, SIG_IGN);  // it may end before it has read all
}

Child::~Child() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Child::signal(int number) const { ::kill(pid_, number); }

void Child::feed() {
  while (in_.valid() && fed_ < input_.size()) {
    const ssize_t wrote = ::write(in_.get(), input_.data() + fed_, input_.size() - fed_);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) return;
    if (wrote < 0) return in_.reset();
    fed_ += static_cast<std::size_t>(wrote);
  }
  if (hold_ == Input::kAll) in_.reset();
}

bool Child::pump(Clock::time_point until) {
  feed();
  if (!out_.valid() && !err_.valid()) return false;
  const bool feeding = in_.valid() && fed_ < input_.size();
  std::array<pollfd, 3> fds = {{{out_.valid() ? out_.get() : -1, POLLIN, 0},
                                {err_.valid() ? err_.get() : -1, POLLIN, 0},
                                {feeding ? in_.get() : -1, POLLOUT, 0}}};
  const auto left = duration_cast<milliseconds>(until - Clock::now()).count();
  if (left > 0 && ::poll(fds.data(), fds.size(), static_cast<int>(left)) > 0) {
    if (fds[0].revents != 0) take(out_, ran_.out);
    if (fds[1].revents != 0) take(err_, ran_.err);
  }
  return true;
}

bool Child::says(const std::string& text, milliseconds patience) {
  const auto until = Clock::now() + patience;
  while (ran_.out.find(text) == std::string::npos) {
    if (Clock::now() >= until || !pump(until)) return false;
  }
  return true;
}

bool Child::warns(const std::string& text, milliseconds patience) {
  const auto until = Clock::now() + patience;
  while (ran_.err.find(text) == std::string::npos) {
    if (Clock::now() >= until || !pump(until)) return false;
  }
  return true;
}

Ran Child::finish() {
  hold_ = Input::kAll;
  const auto until = start_ + patience_;
  while (Clock::now() < until && pump(until)) {
  }
  int status = 0;
  pid_t gone = 0;
  while ((gone = ::waitpid(pid_, &status, WNOHANG)) == 0 && Clock::now() < until) ::usleep(1000);
  if (gone != pid_) throw std::runtime_error("it did not end in time; stderr: " + ran_.err);
  pid_ = -1;
  ran_.code = code_of(status);
  ran_.wall = duration_cast<milliseconds>(Clock::now() - start_);
  return ran_;
}

Ran run_binary(const Call& call) { return Child(call).finish(); }

int in_child(const std::function<int()>& deed) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(deed());
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) throw std::runtime_error("fork");
  return code_of(status);
}

void enter_namespaces(int flags) {
  const auto uid = std::to_string(::geteuid());
  const auto gid = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | flags) != 0) ::_exit(kBroken);
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", "0 " + uid + " 1");
  write_file("/proc/self/gid_map", "0 " + gid + " 1");
  if ((flags & CLONE_NEWNS) != 0 &&
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    ::_exit(kBroken);
}

}  // namespace support
