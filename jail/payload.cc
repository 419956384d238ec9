#include "jail/payload.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "jail/program.h"
#include "jail/raw_call.h"

namespace jail {
namespace {

// Of the payload's process until execve. Only the pages it touches exist.
alignas(64) std::array<std::byte, 65536> stack;

}  // namespace

Result<void> Payload::make(const PlanView& plan, const JailFacts& facts, const Fd& landlock) {
  plan_ = &plan;
  facts_ = &facts;
  landlock_ = &landlock;
  if (!make_pipe(report_) || !make_pipe(order_)) return fail(Step::kFork, errno);
  shares_ = 1;
  int pidfd = -1;
  constexpr int kFlags = CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_CHILD_CLEARTID | CLONE_PIDFD;
  pid_ = ::clone(body, stack.data() + stack.size(), kFlags | SIGCHLD, this, &pidfd, nullptr,
                 reinterpret_cast<std::int32_t*>(&shares_));
  if (pid_ < 0) return fail(Step::kFork, errno, 1);
  const Fd end(pidfd);
  std::array<pollfd, 2> wait{pollfd{report_.read.get(), POLLIN, 0}, pollfd{end.get(), POLLIN, 0}};
  while (::poll(wait.data(), wait.size(), -1) < 0 && errno == EINTR) {
  }
  if (error_.step != Step::kNone) return tl::unexpected(error_);
  if (wait[0].revents == 0) return fail(Step::kReport, ECHILD);  // somebody killed it
  report_ = Pipe{};
  return {};
}

int Payload::body(void* self) {
  static_cast<Payload*>(self)->restrict_and_wait();
  return 125;
}

// In the payload's process. Once the filter is on: only write, read, execve, exit_group, and not
// errno, which init uses too.
void Payload::restrict_and_wait() {
  reset_signals();
  ::prctl(PR_SET_NAME, "sandglass-next", 0, 0, 0);
  auto done = start_session();
  if (done) done = restrict_self(*plan_, *facts_, *landlock_);
  if (!done) {
    error_ = done.error();
    return;
  }
  const auto listener = filter_self(*plan_);
  if (!listener) {
    error_ = listener.error();
    return;
  }
  listener_ = Fd(*listener);
  char byte = 1;
  if (raw_call(SYS_write, report_.write.get(), &byte, 1) == 1 &&
      raw_call(SYS_read, order_.read.get(), &byte, 1) == 1) {
    executes_ = true;
    const std::int64_t rc = raw_call(SYS_execve, program_, command_->argv(), command_->env());
    error_ = SetupError{Step::kExec, 0, static_cast<int>(-rc)};
  }
  raw_call(SYS_exit_group, 125);
}

Result<void> Payload::exec(const CommandView& command) {
  std::array<char, PATH_MAX> program;
  if (const int e = find_program(command.argv()[0], command.env(), program); e != 0)
    return fail(Step::kExec, e);
  program_ = program.data();
  command_ = &command;
  const char byte = 1;
  if (::write(order_.write.get(), &byte, 1) != 1) return fail(Step::kExec, errno, 1);
  // clone(2), CLONE_CHILD_CLEARTID: cleared, and a futex woken, when the process has let go of our
  // memory: by execve, which has its own copy of the open files before that, or by its end.
  for (std::int32_t seen = shares_; seen != 0; seen = shares_)
    ::syscall(SYS_futex, &shares_, FUTEX_WAIT, seen, nullptr, nullptr, 0);
  if (error_.step != Step::kNone) return tl::unexpected(error_);
  if (!executes_) return fail(Step::kReport, ECHILD, 1);  // somebody killed it while it waited
  // It kept our folder and umask.
  if (::unshare(CLONE_FS) != 0) return fail(Step::kExec, errno, 2);
  order_ = Pipe{};
  return {};
}

}  // namespace jail
