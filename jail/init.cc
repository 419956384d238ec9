#include "jail/init.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

#include "jail/folders.h"
#include "jail/identity.h"
#include "jail/join.h"
#include "jail/landlock.h"
#include "jail/mounts.h"
#include "jail/payload.h"
#include "jail/wire.h"

namespace jail {
namespace {

// 0 or an errno. The source may be any readable file; its end decides, not its size.
int copy(int from, int to) {
  std::array<char, 65536> buffer;
  off_t at = 0;
  while (true) {
    const ssize_t n = ::pread(from, buffer.data(), buffer.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return 0;
    for (ssize_t done = 0; done < n;) {
      const auto left = static_cast<std::size_t>(n - done);
      const ssize_t w = ::write(to, buffer.data() + done, left);
      if (w < 0 && errno == EINTR) continue;
      if (w < 0) return errno;
      done += w;
    }
    at += n;
  }
}

// In join.h's order.
constexpr std::array<const char*, kNamespaces> kNamespacePaths{
    "/proc/self/ns/net", "/proc/self/ns/user",   "/proc/self/ns/mnt", "/proc/self/ns/ipc",
    "/proc/self/ns/uts", "/proc/self/ns/cgroup", "/proc/self/ns/pid"};

class Init {
 public:
  Init(const PlanView& plan, const JailFacts& facts, int entered, Fd control)
      : plan_(plan), facts_(facts), entered_(entered), control_(std::move(control)) {}

  [[noreturn]] void run() {
    if (const auto made = make(); !made) die(made.error());
    if (plan_.header().start == Start::kJoin) hand_out();
    const Fd listener = payload_.take_listener();
    const std::array<int, 2> fds{tree_.workdir.get(), listener.get()};
    report(ReportType::kReady, {}, std::span(fds).first(listener.valid() ? 2 : 1));
    while (true) serve_order();
  }

 private:
  // Everything that needs no payload. Order: see the plan at the top of mounts.cc and identity.h.
  Result<void> make() {
    // Other jails' sockets are open in this copy of the worker: close them before anything else.
    control_ = Fd(::fcntl(control_.release(), F_DUPFD_CLOEXEC, 3));
    close_others();
    ::prctl(PR_SET_NAME, "sandglass-init", 0, 0, 0);
    await_go();
    const PlanHeader& h = plan_.header();
    if (auto r = become(Id{h.uid}, Id{h.gid}); !r) return r;
    // Other processes of this uid (rootless) or of this jail must not ptrace PID 1.
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return fail(Step::kIdentity, errno, 3);
    // keyrings(7): the worker's session keyring, an empty one, would come along. A payload that
    // joins takes its own.
    if (h.start == Start::kExec) ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
    ::umask(022);
    // Here and not at clone. The root of the queue file system belongs to who made the namespace,
    // and an id that the jail does not map may not be written below (mq_open would fail for ever).
    // cgroup_namespaces(7): the cgroup we are in becomes the root of what is seen in here.
    if (::unshare(CLONE_NEWIPC | CLONE_NEWCGROUP) != 0) return fail(Step::kIdentity, errno, 4);
    if (const int e = open_namespaces(); e != 0) return fail(Step::kIdentity, e, 5);
    if (const int e = loopback(); e != 0) return fail(Step::kLoopback, e);
    const char* name = plan_.text(h.hostname);
    if (::sethostname(name, h.hostname.length) != 0) return fail(Step::kHostname, errno);
    auto tree = build_tree(plan_);
    if (!tree) return tl::unexpected(tree.error());
    tree_ = std::move(*tree);
    auto rules = landlock_rules(plan_, facts_.landlock_abi);
    if (!rules) return tl::unexpected(rules.error());
    landlock_ = std::move(*rules);
    if (auto r = watch_children(); !r) return r;
    if (h.start == Start::kExec)
      if (auto r = payload_.make(plan_, facts_, landlock_); !r) return r;
    return give_up_rights();
  }

  // Nothing that is left to do needs one: the payload and what it leaves have our own uid.
  static Result<void> give_up_rights() {
    if (auto r = drop_bounding_set(); !r) return r;
    if (auto r = clear_capabilities(); !r) return r;
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail(Step::kNoNewPrivs, errno, 1);
    return {};
  }

  void close_others() {
    const auto keep = static_cast<unsigned>(control_.get());
    if (entered_ != 0) die(SetupError{Step::kCgroup, 1, entered_});
    if (keep > 3) ::syscall(SYS_close_range, 3U, keep - 1, 0);
    ::syscall(SYS_close_range, keep + 1, ~0U, 0);
    null_ = Fd(::fcntl(Fd(::open("/dev/null", O_RDWR | O_CLOEXEC)).get(), F_DUPFD_CLOEXEC, 3));
    empty_streams();
  }

  // The host's /dev/null, or nothing at all.
  void empty_streams() const {
    for (int i = 0; i < 3; ++i)
      if (::dup2(null_.get(), i) < 0) Fd(i).reset();
  }

  void await_go() {
    InitOrder order;
    Received got;
    const auto r =
        receive_packet(control_.get(), std::as_writable_bytes(std::span(&order, 1)), got);
    if (!r || got.size != sizeof(order) || order.type != OrderType::kGo) ::_exit(0);
  }

  // While the host's /proc is still to be seen. Nobody else could: init can't be looked into.
  int open_namespaces() {
    if (plan_.header().start != Start::kJoin) return 0;
    for (std::size_t i = 0; i < kNamespaces; ++i) {
      namespaces_[i].reset(::open(kNamespacePaths[i], O_RDONLY | O_CLOEXEC));
      if (!namespaces_[i].valid()) return errno;
    }
    return 0;
  }

  // Gives the worker what a child of a prototype needs to come in, and only reaps from then on.
  [[noreturn]] void hand_out() {
    std::array<int, kNamespaces + 2> fds{tree_.workdir.get()};
    for (std::size_t i = 0; i < kNamespaces; ++i) fds[i + 1] = namespaces_[i].get();
    fds.back() = landlock_.get();
    report(ReportType::kReady, {}, std::span(fds).first(fds.size() - (landlock_.valid() ? 0 : 1)));
    for (Fd& fd : namespaces_) fd.reset();
    seal();
    while (true) wait_for_news();
  }

  // SIOCSIFFLAGS on the only interface a new network namespace has, which is then the jail's own.
  int loopback() const {
    if (plan_.header().loopback == Loopback::kDown) return 0;
    const Fd s(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!s.valid()) return errno;
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP;
    return ::ioctl(s.get(), SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
  }

  Result<void> watch_children() {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_SETMASK, &child, nullptr);
    signals_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_.valid()) return fail(Step::kReport, errno);
    return {};
  }

  void report(ReportType type, const SetupError& error, std::span<const int> fds) const {
    InitReport message;
    message.type = type;
    message.error = error;
    if (type == ReportType::kExited) add_usage(message);
    // The worker is gone: so is the reason to exist.
    if (!send_struct(control_.get(), message, fds)) ::_exit(0);
  }

  void add_usage(InitReport& message) const {
    message.wait_status = wait_status_;
    rusage usage{};
    if (::getrusage(RUSAGE_CHILDREN, &usage) != 0) return;
    const auto ms = [](const timeval& t) { return t.tv_sec * 1000 + t.tv_usec / 1000; };
    message.cpu_ms = static_cast<std::uint64_t>(ms(usage.ru_utime) + ms(usage.ru_stime));
    message.max_rss_kib = static_cast<std::uint64_t>(usage.ru_maxrss);
  }

  [[noreturn]] void die(const SetupError& error) const {
    report(ReportType::kError, error, {});
    ::_exit(0);
  }

  void serve_order() {
    InitOrder order;
    const auto r =
        receive_packet(control_.get(), std::as_writable_bytes(std::span(&order, 1)), received_);
    if (!r || received_.size != sizeof(order) || order.magic != kWireMagic) ::_exit(0);
    if (order.type == OrderType::kStart) start();
  }

  // fds: command, stdin, stdout, stderr, inputs...
  void start() {
    if (received_.fd_count < 4) die(SetupError{Step::kProtocol, 0, EBADMSG});
    auto mapping = Mapping::of(received_.fds[0], Mapping::Mode::kPrivate, kMaxCommandBytes);
    if (!mapping) die(mapping.error());
    const auto command = CommandView::read(mapping->bytes());
    if (!command) die(command.error());
    if (command->inputs().size() != received_.fd_count - 4)
      die(SetupError{Step::kProtocol, 1, EBADMSG});
    for (std::size_t i = 0; i < command->inputs().size(); ++i)
      if (const int e = put(*command, i); e != 0)
        die(SetupError{Step::kInput, static_cast<std::uint16_t>(i), e});
    launch(*command);
  }

  int put(const CommandView& command, std::size_t i) {
    const CommandInput& input = command.inputs()[i];
    const Fd source = std::move(received_.fds[4 + i]);
    const char* path = command.text(input.path);
    const char* code = plan_.text(plan_.header().code_dir);
    const std::size_t n = plan_.header().code_dir.length;
    const bool in_code = n > 0 && std::strncmp(path, code, n) == 0 && path[n] == '/';
    const Fd root(in_code ? -1 : ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const int folder = in_code ? tree_.code.get() : root.get();
    const char* below = in_code ? path + n + 1 : path + 1;
    const char* name = nullptr;
    const Folder parent = open_parent(folder, below, Links::kRefused, name);
    if (!parent.fd.valid()) return parent.error;
    open_how how{};
    how.flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW;
    how.mode = input.mode;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const Fd target(
        static_cast<int>(::syscall(SYS_openat2, parent.fd.get(), name, &how, sizeof(how))));
    if (!target.valid()) return errno;
    return copy(source.get(), target.get());
  }

  // What the payload's process finds as its own: our streams and our folder, until it executes.
  void launch(const CommandView& command) {
    const auto& fds = received_.fds;
    auto done = set_streams(fds[1], fds[2], fds[3]);
    if (done && ::chdir(command.cwd()) != 0) done = fail(Step::kChdir, errno);
    // All of ours is marked already; this is for what somebody may add.
    if (done && ::syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
      done = fail(Step::kCloseRange, errno);
    if (done) done = payload_.exec(command);
    if (!done) die(done.error());
    empty_streams();
    received_ = Received{};
    report(ReportType::kStarted, {}, {});
    seal();
    while (true) wait_for_news();
  }

  // Nothing but waiting is left to do: give up all other calls.
  void seal() {
    tree_ = Tree{};
    landlock_.reset();
    null_.reset();
    const auto filter = plan_.init_filter();
    const sock_fprog program{static_cast<unsigned short>(filter.size()),
                             const_cast<sock_filter*>(filter.data())};
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) ::_exit(0);
  }

  void wait_for_news() {
    std::array<pollfd, 2> wait{pollfd{control_.get(), POLLIN, 0},
                               pollfd{signals_.get(), POLLIN, 0}};
    if (::poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) ::_exit(0);
    if (wait[0].revents != 0) pass_signal();
    if (wait[1].revents != 0) {
      signalfd_siginfo info{};
      while (::read(signals_.get(), &info, sizeof(info)) > 0) {
      }
      reap();
    }
  }

  void pass_signal() {
    InitOrder order;
    const auto r =
        receive_packet(control_.get(), std::as_writable_bytes(std::span(&order, 1)), received_);
    if (!r || received_.size != sizeof(order) || order.magic != kWireMagic) ::_exit(0);
    if (order.type != OrderType::kSignal) return;
    if (plan_.header().start == Start::kExec) {
      ::kill(-payload_.pid(), order.number);
      return;
    }
    // A payload that joined is not our child; what it left behind is. kill(2): -1 spares us.
    ::kill(-1, order.number);
    while (::wait4(-1, nullptr, 0, nullptr) > 0 || errno == EINTR) {
    }
    report(ReportType::kSwept, {}, {});
  }

  void reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::wait4(-1, &status, WNOHANG, nullptr)) > 0) {
      if (pid != payload_.pid()) continue;
      wait_status_ = status;
      // Whoever it left behind, daemons and pipe holders, ends now.
      ::kill(-1, SIGKILL);
      while (::wait4(-1, nullptr, 0, nullptr) > 0 || errno == EINTR) {
      }
      report(ReportType::kExited, {}, {});
      ::_exit(0);
    }
  }

  const PlanView& plan_;
  const JailFacts& facts_;
  const int entered_;
  Fd control_;
  Tree tree_;
  Fd landlock_;
  Fd signals_;
  Fd null_;
  std::array<Fd, kNamespaces> namespaces_;
  Payload payload_;
  int wait_status_ = 0;
  Received received_;
};

}  // namespace

void run_init(const PlanView& plan, const JailFacts& facts, int entered, Fd control) {
  Init init(plan, facts, entered, std::move(control));
  init.run();
}

}  // namespace jail
