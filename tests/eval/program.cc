#include "tests/eval/program.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>

namespace eval_test {
namespace {

constexpr int kBroken = 99;  // the child could not become the program

[[noreturn]] void become(const std::vector<std::string>& args) {
  const char* program = std::getenv("SANDGLASS_BIN");
  if (program == nullptr) ::_exit(kBroken);
  std::vector<std::string> words = args;
  words.insert(words.begin(), program);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  (void)std::signal(SIGPIPE, SIG_DFL);
  ::execv(program, argv.data());
  ::_exit(kBroken);
}

jail::Fd memory_file(const std::string& text = {}) {
  jail::Fd fd(::memfd_create("test", MFD_CLOEXEC));
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(fd.get(), text.data() + done, text.size() - done);
    if (wrote <= 0) throw std::runtime_error("no memory file");
    done += static_cast<std::size_t>(wrote);
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

std::string text_of(const jail::Fd& fd) {
  struct stat info {};
  ::fstat(fd.get(), &info);
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t got = ::pread(fd.get(), text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void write_file(const char* path, const std::string& text) {
  const jail::Fd fd(::open(path, O_WRONLY | O_CLOEXEC));
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ::_exit(kBroken);
  }
}

// These system calls fail with EPERM from now on.
void deny(std::initializer_list<unsigned> calls) {
  std::vector<sock_filter> code = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)}};
  code.reserve(2 * calls.size() + 2);
  for (const unsigned call : calls) {
    code.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call});
    code.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM});
  }
  code.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    ::_exit(kBroken);
  }
}

}  // namespace

Ran sandglass(const std::vector<std::string>& args, const How& how) {
  const jail::Fd in = memory_file(how.input);
  const jail::Fd out = memory_file();
  const jail::Fd err = memory_file();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(in.get(), STDIN_FILENO);
    ::dup2(out.get(), STDOUT_FILENO);
    ::dup2(err.get(), STDERR_FILENO);
    if (how.in_child) how.in_child();
    become(args);
  }
  int status = -1;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return {code_of(status), text_of(out), text_of(err)};
}

Talk::Talk(const std::vector<std::string>& args) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipes");
  }
  const jail::Fd its_in(in[0]);
  const jail::Fd its_out(out[1]);
  to_.reset(in[1]);
  from_.reset(out[0]);
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::dup2(its_in.get(), STDIN_FILENO);
  ::dup2(its_out.get(), STDOUT_FILENO);
  become(args);
}

Talk::~Talk() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  (void)wait();
}

void Talk::say(const std::string& text) const {
  if (::write(to_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("it does not listen");
  }
}

std::string Talk::hear(const std::string& text) const {
  using Clock = std::chrono::steady_clock;
  std::string heard;
  const auto end = Clock::now() + std::chrono::seconds(5);
  while (heard.find(text) == std::string::npos && Clock::now() < end) {
    pollfd one{from_.get(), POLLIN, 0};
    if (::poll(&one, 1, 100) <= 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(from_.get(), buffer.data(), buffer.size());
    if (got <= 0) break;
    heard.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return heard;
}

// fcntl(2): the flag belongs to the open file description, and each end of a pipe has its own.
// pidfd_getfd(2) gives us the child's.
void Talk::make_input_non_blocking() const {
  const jail::Fd child(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  const jail::Fd its(static_cast<int>(::syscall(SYS_pidfd_getfd, child.get(), 0, 0)));
  if (!its.valid() || ::fcntl(its.get(), F_SETFL, O_NONBLOCK) != 0) {
    throw std::runtime_error("cannot reach the program's stdin");
  }
}

int Talk::wait() {
  int status = -1;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return code_of(status);
}

// user_namespaces(7): /proc/sys/user/max_user_namespaces is a limit of the user namespace that
// reads it.
void forbid_user_namespaces_by_limit() {
  const std::string uid = std::to_string(::geteuid());
  const std::string gid = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER) != 0) ::_exit(kBroken);
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", "0 " + uid + " 1");
  write_file("/proc/self/gid_map", "0 " + gid + " 1");
  write_file("/proc/sys/user/max_user_namespaces", "0");
}

// What a container's seccomp profile does.
void forbid_user_namespaces_by_filter() { deny({SYS_unshare}); }

void forbid_processes() {
#if defined(__SANITIZE_ADDRESS__)
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // the search for leaks is a process of its own
#endif
  deny({SYS_clone, SYS_clone3, SYS_fork, SYS_vfork});
}

}  // namespace eval_test
