// Runs in the prototype and in its child. After clone: no allocation.
#include "jail/join.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>

#include "jail/identity.h"
#include "jail/plan.h"
#include "jail/program.h"

namespace jail {
namespace {

enum Place : std::size_t { kPlan, kReport, kGo, kControl, kIn, kOut, kErr, kFirstNamespace };

constexpr int kReportFd = 4;
constexpr int kGoFd = 5;

// In Namespace's order.
constexpr std::array kFlags{CLONE_NEWNET, CLONE_NEWUSER, CLONE_NEWNS,
                            CLONE_NEWIPC, CLONE_NEWUTS,  CLONE_NEWCGROUP};

class Child {
 public:
  Child(const JoinOrder& order, Received& got) : order_(order), got_(got) {}

  // Returns when the worker says "go"; ends the process when it can't be.
  void join() {
    auto plan = load();
    if (plan && order_.executes != 0)
      if (const auto r = load_command(); !r) plan = tl::unexpected(r.error());
    Result<int> listener = fail(Step::kPlan, EINVAL, 2);
    if (plan) {
      const auto entered = enter(*plan);
      listener = entered ? filter_self(*plan) : tl::unexpected(entered.error());
    }
    JoinReport report;
    if (listener) report.listener = *listener;
    if (!listener) report.error = listener.error();
    // From here on only what every policy allows: write, read, close, exit_group.
    const int from = placed_ ? kReportFd : fd(kReport);
    const bool told = ::write(from, &report, sizeof(report)) == sizeof(report);
    char byte = 0;
    if (!told || !listener || ::read(kGoFd, &byte, 1) != 1) ::_exit(125);
    if (order_.executes != 0) execute();
    for (const int number : {kReportFd, kGoFd, *listener})
      if (number >= 0) Fd(number).reset();
  }

 private:
  [[nodiscard]] int fd(std::size_t place) const { return got_.fds[place].get(); }

  Result<PlanView> load() {
    auto mapping = Mapping::of(got_.fds[kPlan], Mapping::Mode::kShared, kMaxPlanBytes);
    if (!mapping) return tl::unexpected(mapping.error());
    mapping_ = std::move(*mapping);
    return PlanView::read(mapping_.bytes());
  }

  Result<void> load_command() {
    const std::size_t place = kFirstNamespace + kNamespaces + order_.tasks;
    auto mapping = Mapping::of(got_.fds[place], Mapping::Mode::kPrivate, kMaxCommandBytes);
    if (!mapping) return tl::unexpected(mapping.error());
    command_mapping_ = std::move(*mapping);
    auto command = CommandView::read(command_mapping_.bytes());
    if (!command) return tl::unexpected(command.error());
    command_ = *command;
    return {};
  }

  // Under the filter: the spawner lets the first execve through. The end of `report` tells it.
  [[noreturn]] void execute() const {
    ::execve(program_.data(), command_->argv(), command_->env());
    JoinReport report;
    report.error = SetupError{Step::kExec, 0, errno};
    (void)!::write(kReportFd, &report, sizeof(report));
    ::_exit(125);
  }

  Result<void> enter(const PlanView& plan) {
    const PlanHeader& h = plan.header();
    const std::size_t first_task = kFirstNamespace + kNamespaces;
    for (std::size_t i = 0; i < order_.tasks; ++i)
      if (::write(fd(first_task + i), "0", 1) != 1) return fail(Step::kCgroup, errno, 2);
    for (std::size_t i = 0; i < kFlags.size(); ++i)
      if (::setns(fd(kFirstNamespace + i), kFlags[i]) != 0)
        return fail(Step::kJoin, errno, static_cast<std::uint16_t>(i));
    if (auto r = become(Id{h.uid}, Id{h.gid}); !r) return r;
    ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
    ::umask(022);
    if (auto r = start_session(); !r) return r;
    if (::chdir(plan.text(h.workdir)) != 0) return fail(Step::kChdir, errno);
    if (command_)
      if (const int e = find_program(command_->argv()[0], command_->env(), program_); e != 0)
        return fail(Step::kExec, e);
    // Before the limits: one of them is on the numbers of descriptors.
    if (auto r = place(first_task + order_.tasks + order_.executes); !r) return r;
    if (auto r = restrict_self(plan, order_.facts, landlock_); !r) return r;
    landlock_.reset();
    // A process that changed its ids can't be looked into, not even by itself; the worker fetches
    // the listener with pidfd_getfd(2), which asks for ptrace access.
    if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) return fail(Step::kNoNewPrivs, errno, 1);
    return {};
  }

  // 0..2 the streams, 3 control, 4 report, 5 go, 6 the Landlock ruleset if there is one, and
  // nothing else.
  Result<void> place(std::size_t rules) {
    const std::array<std::size_t, 7> wanted{kIn, kOut, kErr, kControl, kReport, kGo, rules};
    const std::size_t count = rules < got_.fd_count ? wanted.size() : wanted.size() - 1;
    std::array<int, wanted.size()> high{};
    for (std::size_t i = 0; i < count; ++i) {
      high[i] = ::fcntl(fd(wanted[i]), F_DUPFD_CLOEXEC, 64);
      if (high[i] < 0) return fail(Step::kStdio, errno, static_cast<std::uint16_t>(i));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const bool kept = i < 3 || (wanted[i] == kControl && command_);
      const int flags = kept ? 0 : O_CLOEXEC;
      const int target = static_cast<int>(i);
      // dup3(2) keeps nothing of what the number was before.
      if (::dup3(high[i], target, flags) != target)
        return fail(Step::kStdio, errno, static_cast<std::uint16_t>(i));
    }
    for (std::size_t i = 0; i < got_.fd_count; ++i) (void)got_.fds[i].release();
    placed_ = true;
    if (count == wanted.size()) landlock_ = Fd(kGoFd + 1);
    if (::syscall(SYS_close_range, count, ~0U, 0) != 0) return fail(Step::kCloseRange, errno);
    return {};
  }

  const JoinOrder& order_;
  Received& got_;
  Mapping mapping_;
  Mapping command_mapping_;
  std::optional<CommandView> command_;
  std::array<char, PATH_MAX> program_{};
  Fd landlock_;
  bool placed_ = false;
};

// fork(2), but as the worker's child, in the pid namespace that setns(2) has chosen. glibc keeps
// the thread's id where the kernel writes it at the thread's start: prctl(2), PR_GET_TID_ADDRESS,
// says where, and the child's own must get there.
pid_t clone_as_sibling() {
  void* tid = nullptr;
  unsigned long flags = CLONE_PARENT | static_cast<unsigned long>(SIGCHLD);
  if (::prctl(PR_GET_TID_ADDRESS, &tid, 0, 0, 0) == 0 && tid != nullptr)
    flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  return static_cast<pid_t>(::syscall(SYS_clone, flags, nullptr, nullptr, tid, nullptr));
}

// The choice of pid namespace stays until the next order makes its own: the way back to the
// prototype's is not open, since the host owns it.
JoinReply serve(const JoinOrder& order, Received& got) {
  JoinReply reply;
  reply.serial = order.serial;
  const int pid_namespace = got.fds[kFirstNamespace + kNamespaces - 1].get();
  if (::setns(pid_namespace, CLONE_NEWPID) != 0) {
    reply.error = SetupError{Step::kJoin, kNamespaces - 1, errno};
    return reply;
  }
  reply.pid = clone_as_sibling();
  if (reply.pid == 0) return reply;
  if (reply.pid < 0) reply.error = SetupError{Step::kFork, 3, errno};
  return reply;
}

}  // namespace

int serve_join(int orders, const ForkHooks& hooks) {
  static Received got;
  JoinOrder order;
  const auto r = receive_packet(orders, std::as_writable_bytes(std::span(&order, 1)), got);
  if (!r || got.size != sizeof(order) || order.magic != kWireMagic) return -1;
  JoinReply reply;
  reply.serial = order.serial;
  if (got.fd_count < kJoinFds + order.tasks + order.executes) {
    reply.error = SetupError{Step::kProtocol, 0, EBADMSG};
  } else {
    if (hooks.before != nullptr) hooks.before();
    reply = serve(order, got);
    if (reply.pid == 0) {
      Fd(orders).reset();
      Child(order, got).join();
      if (hooks.in_child != nullptr) hooks.in_child();
      return 1;
    }
    if (hooks.in_parent != nullptr) hooks.in_parent();
  }
  for (std::size_t i = 0; i < got.fd_count; ++i) got.fds[i].reset();
  got.fd_count = 0;
  return send_struct(orders, reply) ? 0 : -1;
}

}  // namespace jail
