// Prototypes, and the payloads that join jails from them.
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "jail/join.h"
#include "jail/pipe.h"
#include "jail/worker.h"

namespace jail {
namespace {

constexpr int kOrdersFd = 3;
constexpr std::uint32_t kOwnPrototype = 0;

// In the child of the worker. It keeps the worker's credentials: setns(2) into a jail asks for the
// owner of the jail's user namespace. Namespaces of its own take the network away, and the host's
// /tmp.
[[noreturn]] void become_prototype(const CommandView& command, const Received& got,
                                   const Fd& orders) {
  // Out of the way of the numbers that are given out below.
  constexpr int kHigh = 512;
  const int files = static_cast<int>(got.fd_count) - 4;
  const Fd high(::fcntl(orders.get(), F_DUPFD_CLOEXEC, kHigh));
  bool ok = high.valid() && set_streams(got.fds[1], got.fds[2], got.fds[3]).has_value();
  ok = ok && start_session().has_value() &&
       ::unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS) == 0;
  // What its libraries write, a cache of fonts say, goes with it.
  ok = ok && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
       ::mount("tmp", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=64m") == 0;
  ok = ok && ::dup2(high.get(), kOrdersFd) == kOrdersFd && ::chdir("/") == 0;
  // Which numbers these are is open: a worker with some forty jails has such high ones itself.
  std::array<int, kMaxFds> copies{};
  for (std::size_t i = 4; i < got.fd_count; ++i)
    copies.at(i) = ::fcntl(got.fds[i].get(), F_DUPFD_CLOEXEC, kHigh);
  for (int i = 0; i < files; ++i)
    ok = ok && ::dup2(copies.at(static_cast<std::size_t>(i) + 4), kOrdersFd + 1 + i) >= 0;
  ok = ok && ::syscall(SYS_close_range, kOrdersFd + 1 + files, ~0U, 0) == 0;
  if (ok) ::execve(command.argv()[0], command.argv(), command.env());
  ::_exit(127);
}

[[noreturn]] void serve_joins(const Fd& orders) {
  ::prctl(PR_SET_NAME, "sandglass-join", 0, 0, 0);
  const bool ok = start_session() && ::dup2(orders.get(), kOrdersFd) == kOrdersFd &&
                  ::syscall(SYS_close_range, kOrdersFd + 1, ~0U, 0) == 0;
  while (ok && serve_join(kOrdersFd, {}) == 0) {
  }
  ::_exit(0);
}

}  // namespace

// fds: command, stdin, stdout, stderr, files...
void Worker::start_prototype(const Request& request) {
  const auto id = static_cast<std::uint32_t>(request.id);
  const auto refuse = [&] {
    const PrototypeEndedPacket packet{
        {kWireMagic, ReplyType::kPrototypeEnded, request.id}, 127 << 8, 0};
    if (!send_struct(caller_.get(), packet)) alive_ = false;
  };
  if (received_.fd_count < 4 || request.id > 0xffffffffU || prototypes_.count(id) != 0)
    return refuse();
  auto mapping = Mapping::of(received_.fds[0], Mapping::Mode::kPrivate, kMaxCommandBytes);
  if (!mapping) return refuse();
  const auto command = CommandView::read(mapping->bytes());
  if (!command) return refuse();
  const bool forked =
      fork_prototype(id, [&](const Fd& orders) { become_prototype(*command, received_, orders); });
  if (!forked) refuse();
}

// The one whose children execute a command: a copy of ourselves that does nothing else. Where it
// can't be made, the join that wanted it says so.
void Worker::start_own_prototype() {
  if (prototypes_.count(kOwnPrototype) != 0) return;
  fork_prototype(kOwnPrototype, serve_joins);
}

// `live`, in the child, does not return. False, with errno, where there is no child.
template <class Live>
bool Worker::fork_prototype(std::uint32_t id, const Live& live) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return false;
  Prototype prototype;
  prototype.orders = Fd(pair[0]);
  ::fcntl(pair[0], F_SETFL, O_NONBLOCK);
  const Fd theirs(pair[1]);
  const pid_t worker = ::getpid();
  prototype.pid = ::fork();
  if (prototype.pid < 0) return false;
  if (prototype.pid == 0) {
    // prctl(2): sent when the thread that forked us ends; the worker has only one.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (::getppid() != worker) ::_exit(125);
    reset_signals();
    live(theirs);
  }
  watch(prototype.orders.get(), Source::kPrototype, id);
  prototypes_.emplace(id, std::move(prototype));
  return true;
}

// It sees the end of its orders behind those that are on the way.
void Worker::drop_prototype(std::uint32_t id) {
  const auto it = prototypes_.find(id);
  if (it != prototypes_.end()) ::shutdown(it->second.orders.get(), SHUT_WR);
}

void Worker::serve_prototype(std::uint32_t id) {
  const auto it = prototypes_.find(id);
  if (it == prototypes_.end()) return;
  JoinReply reply;
  const auto r = receive_packet(it->second.orders.get(),
                                std::as_writable_bytes(std::span(&reply, 1)), received_);
  if (!r && r.error().error == EAGAIN) return;
  if (!r || received_.size != sizeof(reply) || reply.magic != kWireMagic) return bury_prototype(id);
  const auto jail = jails_.find(reply.serial);
  if (jail != jails_.end() && jail->second.joining) return joined(jail->second, reply);
  // For a jail that is gone meanwhile: its namespace has killed the payload, and reap_strangers may
  // have been there before us.
  siginfo_t info{};
  const auto pid = static_cast<id_t>(reply.pid);
  if (reply.pid > 0 && ::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
    ::waitpid(reply.pid, nullptr, 0);
}

void Worker::bury_prototype(std::uint32_t id) {
  const auto it = prototypes_.find(id);
  ::kill(it->second.pid, SIGKILL);
  int status = 0;
  while (::waitpid(it->second.pid, &status, 0) < 0 && errno == EINTR) {
  }
  prototypes_.erase(it);
  for (auto& [serial, jail] : jails_) {
    const bool waits = jail.joining && jail.joining->prototype == id && jail.joining->pid < 0;
    if (waits && jail.stage != Stage::kDying) lose_join(jail, {Step::kPrototype, 1, ESRCH});
  }
  const PrototypeEndedPacket packet{{kWireMagic, ReplyType::kPrototypeEnded, id}, status, 0};
  if (!send_struct(caller_.get(), packet)) alive_ = false;
}

// fds: plan, control, stdin, stdout, stderr.
void Worker::join(const Request& request) {
  if (received_.fd_count != (request.number == kOwnPrototype ? 6 : 5))
    return reply_launched(request.id, SetupError{Step::kProtocol, 0, EBADMSG});
  if (request.number == kOwnPrototype) start_own_prototype();
  auto plan = load(std::move(received_.fds[0]));
  if (!plan) return reply_launched(request.id, plan.error());
  if ((*plan)->view.header().start != Start::kJoin)
    return reply_launched(request.id, SetupError{Step::kProtocol, 2, EINVAL});
  if (prototypes_.count(request.number) == 0)
    return reply_launched(request.id, SetupError{Step::kPrototype, 0, ESRCH});
  JailProcess* jail = find(request.id);
  if (jail != nullptr && (jail->stage != Stage::kParked || jail->joining))
    return reply_launched(request.id, SetupError{Step::kProtocol, 3, EBUSY});
  if (jail == nullptr) {
    const auto taken = take(*plan, request.id);
    if (!taken) return reply_launched(request.id, taken.error());
    jail = *taken;
  }
  jail->joining = std::make_unique<Joining>();
  Joining& j = *jail->joining;
  j.prototype = request.number;
  j.control = std::move(received_.fds[1]);
  j.in = std::move(received_.fds[2]);
  j.out = std::move(received_.fds[3]);
  j.err = std::move(received_.fds[4]);
  j.command = std::move(received_.fds[5]);
  // Else the order follows when it is.
  if (jail->stage == Stage::kMaking || jail->sweeping) return;
  jail->stage = Stage::kStarting;
  send_order(*jail);
}

void Worker::send_order(JailProcess& jail) {
  Joining& j = *jail.joining;
  if (jail.kept) count_anew(jail);
  const auto prototype = prototypes_.find(j.prototype);
  if (prototype == prototypes_.end()) return lose_join(jail, {Step::kPrototype, 1, ESRCH});
  Pipe report;
  Pipe go;
  if (!make_pipe(report) || !make_pipe(go)) return lose_join(jail, {Step::kFork, 0, errno});
  j.report = std::move(report.read);
  j.go = std::move(go.write);
  const std::vector<Fd> entrances = jail.cgroup.entrances();
  std::array<int, kMaxFds> fds{
      jail.plan->file.get(), report.write.get(), go.read.get(), j.control.get(), j.in.get(),
      j.out.get(),           j.err.get()};
  std::size_t count = kJoinFds - kNamespaces;
  for (const Fd& ns : jail.namespaces) fds[count++] = ns.get();
  for (const Fd& file : entrances) fds[count++] = file.get();
  if (j.command.valid()) fds[count++] = j.command.get();
  if (jail.landlock.valid()) fds[count++] = jail.landlock.get();
  JoinOrder order;
  order.serial = jail.serial;
  order.tasks = static_cast<std::uint32_t>(entrances.size());
  order.executes = j.command.valid() ? 1 : 0;
  order.facts = jail.facts;
  const auto sent =
      send_struct(prototype->second.orders.get(), order, std::span(fds.data(), count));
  if (!sent) return lose_join(jail, {Step::kPrototype, 2, ESRCH});
  for (Fd* fd : {&j.control, &j.in, &j.out, &j.err}) fd->reset();
}

// The payload has not come, for no fault of the jail's. One that holds a session's files stays for
// the next join; whoever may have come in all the same is swept out, and reaped by a tick.
void Worker::lose_join(JailProcess& jail, const SetupError& error) {
  constexpr int kTicks = 100;
  if (!jail.kept) return fail_join(jail, error);
  if (jail.strangers_for == 0) ++orphaned_;
  jail.strangers_for = kTicks;
  reply_launched(*jail.launch, error);
  park(jail);
}

void Worker::fail_join(JailProcess& jail, const SetupError& error) {
  jail.error = error;
  end(jail);
}

// A payload whose prototype died between cloning it and telling us. pid_namespaces(7): its jail's
// init can't end before we, its parent, have reaped it.
void Worker::reap_strangers() {
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0) {
    if (is_ours(info.si_pid)) return;  // comes by its own descriptor
    ::waitpid(info.si_pid, nullptr, 0);
    info.si_pid = 0;
  }
}

bool Worker::is_ours(pid_t pid) const {
  const auto is_jails = [pid](const auto& entry) {
    const JailProcess& jail = entry.second;
    return jail.pid == pid || (jail.joining && jail.joining->pid == pid);
  };
  const auto is_prototype = [pid](const auto& entry) { return entry.second.pid == pid; };
  return std::any_of(jails_.begin(), jails_.end(), is_jails) ||
         std::any_of(prototypes_.begin(), prototypes_.end(), is_prototype);
}

void Worker::joined(JailProcess& jail, const JoinReply& reply) {
  Joining& j = *jail.joining;
  if (jail.stage == Stage::kDying) return;  // reap_strangers sees to it
  if (reply.pid <= 0) return lose_join(jail, reply.error);
  j.pid = reply.pid;
  // Ours, so its number is its own until we reap it.
  j.pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, j.pid, 0)));
  if (!j.pidfd.valid()) return fail_join(jail, {Step::kFork, 4, errno});
  watch(j.pidfd.get(), Source::kPayload, jail.serial);
  watch(j.report.get(), Source::kReport, jail.serial);
}

void Worker::serve_report(JailProcess& jail) {
  // An event of this turn of the loop may be about what an earlier one has ended.
  if (!jail.joining || !jail.joining->report.valid()) return;
  Joining& j = *jail.joining;
  JoinReport report;
  const ssize_t n = ::read(j.report.get(), &report, sizeof(report));
  const bool waits = j.go.valid();
  if (n != sizeof(report) || report.error.step != Step::kNone) {
    unwatch(j.report.get());
    j.report.reset();
  }
  if (jail.stage == Stage::kDying) return;
  if (n == 0 && !waits) return started(jail);
  if (n != sizeof(report)) return fail_join(jail, {Step::kReport, 2, EPIPE});
  if (report.error.step != Step::kNone) return fail_join(jail, report.error);
  if (report.listener >= 0) {
    Fd listener(static_cast<int>(::syscall(SYS_pidfd_getfd, j.pidfd.get(), report.listener, 0)));
    if (!listener.valid()) return fail_join(jail, {Step::kSeccomp, 1, errno});
    listen(jail, std::move(listener));
  }
  const char byte = 1;
  if (::write(j.go.get(), &byte, 1) != 1) return fail_join(jail, {Step::kReport, 3, errno});
  j.go.reset();
}

// The end of a payload that joined. Its jail stays.
void Worker::payload_ended(JailProcess& jail) {
  if (!jail.joining) return;
  Joining& j = *jail.joining;
  int status = 0;
  rusage usage{};
  if (::wait4(j.pid, &status, WNOHANG, &usage) != j.pid) return;
  j.reaped = true;
  unwatch(j.pidfd.get());
  if (jail.stage == Stage::kDying) return;
  // Its last words may still be in the pipe: what failed, or that it was on its own already.
  if (!jail.launched_sent && j.report.valid()) serve_report(jail);
  if (jail.stage == Stage::kDying) return;
  if (!jail.launched_sent) return fail_join(jail, {Step::kReport, 2, EPIPE});
  --running_;
  look_at_meter(jail);
  if (jail.ended.cause == KillCause::kNone) {
    InitReport report;
    report.wait_status = status;
    report.max_rss_kib = static_cast<std::uint64_t>(usage.ru_maxrss);
    exited(jail, report);
  }
  report_end(jail);
  park(jail);
}

void Worker::park(JailProcess& jail) {
  throttled_.erase(std::remove(throttled_.begin(), throttled_.end(), jail.serial),
                   throttled_.end());
  if (jail.notify && jail.listening) unwatch(jail.notify->listener().get());
  jail.notify.reset();
  jail.listening = false;
  jail.joining.reset();
  jail.error.reset();
  jail.ended = Ended{};
  jail.launched_sent = jail.end_reported = false;
  jail.stage = Stage::kParked;
  jail.kept = true;
  InitOrder order;
  order.type = OrderType::kSignal;
  order.number = SIGKILL;
  jail.sweeping = send_struct(jail.control.get(), order).has_value();
  if (!jail.sweeping) end(jail);
}

void Worker::swept(JailProcess& jail) {
  jail.sweeping = false;
  if (!jail.joining || jail.stage != Stage::kParked) return;
  jail.stage = Stage::kStarting;
  send_order(jail);
}

void Worker::close_jail(std::uint64_t id) {
  JailProcess* jail = find(id);
  if (jail == nullptr || jail->stage == Stage::kDying) return;
  if (jail->stage == Stage::kParked && !jail->joining) jail->end_reported = true;
  if (jail->ended.cause == KillCause::kNone) jail->ended.cause = KillCause::kRequested;
  end(*jail);
}

}  // namespace jail
