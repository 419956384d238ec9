#include "runner/session/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "runner/session/boost_process.h"
#include "runner/session/outcome.h"
#include "runner/text.h"

namespace runner {
namespace {

namespace asio = boost::asio;
namespace process = boost::process::v2;
using Process = process::basic_process<asio::io_context::executor_type>;

constexpr int kPatienceMs = 10'000;  // for the spawner to take its jails down
constexpr int kDeathMs = 1'000;      // for a spawner that has closed its socket to be gone

// What a child is to start with. Boost's launcher forks, and both processes then copy the pages
// they touch; posix_spawn(3) shares them until the exec, which is measurably quicker, and reports
// the exec's errno. (Boost 1.81's bind_fd lacks a return statement, and its vfork launcher lets the
// child rebuild its parent's epoll.)
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  SpawnPlan(SpawnPlan&&) = delete;
  SpawnPlan& operator=(SpawnPlan&&) = delete;

  // A jail's first process must hold no file or terminal of our caller's: /dev/null for all three,
  // the socket, and nothing else.
  void set_files(const jail::Fd& socket) {
    ::posix_spawn_file_actions_adddup2(&files_, socket.get(), jail::kSpawnerSocket);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
#if !defined(NDEBUG)
      if (fd == STDERR_FILENO) continue;  // a debug build may have something to say
#endif
      ::posix_spawn_file_actions_addopen(&files_, fd, "/dev/null", O_RDWR, 0);
    }
    ::posix_spawn_file_actions_addclosefrom_np(&files_, jail::kSpawnerSocket + 1);
  }

  // No signal ignored or blocked: a shell starts background jobs with SIGINT ignored, and that
  // would reach the payload. A session of its own: neither a terminal's ^C nor its job control.
  void set_signals() {
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  }

  // The child's pid, or an errno. Its environment is empty, but for the one variable it reads.
  tl::expected<pid_t, int> start(const std::string& path) const {
    std::string name = path;
    const std::array<char*, 2> argv = {name.data(), nullptr};
    const char* cgroup = std::getenv("SANDGLASS_CGROUP");
    std::string wish = cgroup == nullptr ? "" : std::string("SANDGLASS_CGROUP=") + cgroup;
    const std::array<char*, 2> environment = {wish.empty() ? nullptr : wish.data(), nullptr};
    pid_t pid = 0;
    const int error =
        ::posix_spawn(&pid, path.c_str(), &files_, &attributes_, argv.data(), environment.data());
    if (error != 0) return tl::unexpected(error);
    return pid;
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

// What the spawner would not understand, and leave out without a word.
Result<void> check_cgroup_wish() {
  const char* wish = std::getenv("SANDGLASS_CGROUP");
  const std::string_view word = wish == nullptr ? "" : wish;
  if (word.empty() || word == "none" || word == "v1" || word == "v2") return {};
  return fail(ErrorKind::kUsage, "SANDGLASS_CGROUP=" + printable(word) +
                                     ": not a word it knows; it may be none, v1 or v2, or unset");
}

Error spawner_error(std::string text, jail::SetupError setup) {
  return Error{ErrorKind::kSpawner, std::move(text), setup};
}

// posix_spawn(3) gives one errno for the program and for the files it is to have.
std::string start_advice(const std::string& path, int error) {
  if (error == EAGAIN) return "; no more processes allowed for this user: see ulimit -u";
  if (error == EMFILE || error == ENFILE) return "; raise ulimit -n";
  if (::access(path.c_str(), X_OK) == 0 && ::access("/dev/null", R_OK | W_OK) != 0) {
    return "; /dev/null is missing or closed to us: mount a /dev";
  }
  return "; it belongs beside the sandglass program: build or install both";
}

// The spawner itself could not start.
Error start_error(const jail::SetupError& setup) {
  return spawner_error(jail::describe(setup, nullptr), setup);
}

// A peer that closes its socket with something of ours unread resets the connection. That is
// reported once, ahead of what the peer had still sent: the next call finds it.
jail::Result<std::optional<jail::Event>> receive_event(const jail::Fd& socket) {
  auto received = jail::receive(socket);
  return received ? std::move(received) : jail::receive(socket);
}

std::string death_text(int status) {
  if (WIFSIGNALED(status)) return "it was killed by " + signal_text(WTERMSIG(status));
  return "it exited with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

struct Launcher::Child {
  Process process;

  // The wait status, or nullopt when it still runs after `milliseconds`.
  std::optional<int> wait_for(int milliseconds) {
    boost::system::error_code ignored;
    if (process.running(ignored)) {
      // pidfd_open(2): readable when the process has ended. Boost 1.81 does not show its own.
      const jail::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.id(), 0)));
      pollfd one{pidfd.get(), POLLIN, 0};
      while (::poll(&one, 1, milliseconds) < 0 && errno == EINTR) {
      }
      if (process.running(ignored)) return std::nullopt;
    }
    return process.native_exit_code();
  }
};

Launcher::Launcher(asio::io_context& io) : io_(io), wait_(io) {}

Launcher::~Launcher() { shutdown(); }

Result<void> Launcher::start(const std::string& path) {
  if (auto checked = check_cgroup_wish(); !checked) return checked;
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return tl::unexpected(spawner_error(
        "cannot make the spawner's socket: " + jail::errno_name(errno) + "; raise ulimit -n",
        {jail::Step::kSpawnerStart, 0, errno}));
  }
  socket_.reset(ends[0]);
  const jail::Fd theirs(ends[1]);
  ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);

  SpawnPlan plan;
  plan.set_files(theirs);
  plan.set_signals();
  const auto pid = plan.start(path);
  if (!pid) {
    socket_.reset();
    const std::string text = "cannot start " + path + ": " + jail::errno_name(pid.error()) +
                             start_advice(path, pid.error());
    return tl::unexpected(spawner_error(text, {jail::Step::kSpawnerStart, 0, pid.error()}));
  }
  child_ = std::make_unique<Child>(Child{Process(io_.get_executor(), *pid)});
  if (wants_meters_) share_meters();
  wait_.assign(socket_.get());
  wait();
  return {};
}

// Only for speed: without it, usage is asked for. One memory for all spawners there will be: its
// meters may outlive one.
void Launcher::share_meters() {
  if (!meters_.file().valid())
    if (auto made = jail::MeterMemory::make(); made) meters_ = std::move(*made);
  if (meters_.file().valid()) (void)jail::send_meters(socket_, meters_);
}

Result<std::uint64_t> Launcher::launch(const jail::Fd& plan, const jail::Fd& command,
                                       jail::Stdio stdio, std::span<const jail::Fd> inputs,
                                       LaunchListener& listener, jail::Millis kill_after) {
  const std::uint64_t id = ++last_id_;
  const auto sent = jail::send_launch(socket_, id, plan, command, stdio, inputs, kill_after);
  if (!sent) return tl::unexpected(unsent(sent.error()));
  listeners_[id] = &listener;
  return id;
}

Error Launcher::unsent(const jail::SetupError& error) {
  if (auto reason = last_words()) return std::move(*reason);
  return spawner_error(
      "the spawner does not answer: " + jail::errno_name(error.error) + "; try again", error);
}

Result<std::uint32_t> Launcher::start_prototype(const jail::Fd& command, jail::Stdio stdio,
                                                std::span<const jail::Fd> files) {
  const std::uint32_t id = ++last_prototype_;
  const auto sent = jail::send_prototype(socket_, id, command, stdio, files);
  if (!sent) return tl::unexpected(unsent(sent.error()));
  return id;
}

void Launcher::drop_prototype(std::uint32_t id) { (void)jail::send_drop_prototype(socket_, id); }

Result<std::uint64_t> Launcher::join(std::uint32_t prototype, const jail::Fd& plan,
                                     const jail::Fd& control, jail::Stdio stdio,
                                     LaunchListener& listener, std::uint64_t into,
                                     const jail::Fd* command) {
  const std::uint64_t id = into != 0 ? into : ++last_id_;
  const auto sent = jail::send_join(socket_, id, prototype, plan, control, stdio, command);
  if (!sent) return tl::unexpected(unsent(sent.error()));
  listeners_[id] = &listener;
  return id;
}

void Launcher::arm(std::uint64_t id, jail::Millis cpu_time) {
  (void)jail::send_arm(socket_, id, cpu_time);
}
void Launcher::ask_usage(std::uint64_t id) { (void)jail::send_usage(socket_, id); }
void Launcher::close_jail(std::uint64_t id) { (void)jail::send_close(socket_, id); }

// Why a spawner that has gone has gone: what it wrote last can still be read.
std::optional<Error> Launcher::last_words() {
  for (;;) {
    const auto received = receive_event(socket_);
    if (!received || !*received) return std::nullopt;
    const auto* launched = std::get_if<jail::Launched>(&**received);
    if (launched != nullptr && launched->id == 0 && launched->error) {
      return start_error(*launched->error);
    }
  }
}

// A request that cannot be sent means that the spawner is gone, which receive() reports.
void Launcher::interrupt(std::uint64_t id) { (void)jail::send_interrupt(socket_, id); }
void Launcher::kill(std::uint64_t id) { (void)jail::send_kill(socket_, id); }

void Launcher::wait() {
  wait_.async_wait(asio::posix::descriptor_base::wait_read,
                   [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
                     if (error || alive.expired()) return;
                     receive_all();
                   });
}

void Launcher::receive_all() {
  const std::weak_ptr alive = alive_;
  while (socket_.valid()) {
    auto received = receive_event(socket_);
    if (!received) {
      const auto status = child_ ? child_->wait_for(kDeathMs) : std::nullopt;
      return lose(spawner_error("the spawner has died" +
                                    (status ? ": " + death_text(*status) : std::string()) +
                                    "; see whether the host is out of memory, and try again",
                                received.error()));
    }
    if (!*received) return wait();
    dispatch(std::move(**received));
    if (alive.expired()) return;
  }
}

void Launcher::dispatch(jail::Event event) {
  if (auto* hello = std::get_if<jail::Hello>(&event)) {
    hello_ = *hello;
  } else if (auto* launched = std::get_if<jail::Launched>(&event)) {
    on_launched(std::move(*launched));
  } else if (auto* list = std::get_if<jail::DeniedList>(&event)) {
    if (LaunchListener* listener = find(list->id)) listener->on_denied(std::move(list->denied));
  } else if (auto* ended = std::get_if<jail::Ended>(&event)) {
    if (LaunchListener* listener = take(ended->id)) listener->on_ended(*ended);
  } else if (auto* usage = std::get_if<jail::Usage>(&event)) {
    if (LaunchListener* listener = find(usage->so_far.id)) listener->on_usage(usage->so_far);
  } else if (auto* prototype = std::get_if<jail::PrototypeEnded>(&event)) {
    if (prototype_ended_)
      prototype_ended_(static_cast<std::uint32_t>(prototype->id), prototype->wait_status);
  }
}

void Launcher::on_launched(jail::Launched launched) {
  // Id 0: the spawner could not even start.
  if (launched.id == 0 && launched.error) {
    return lose(start_error(*launched.error));
  }
  LaunchListener* listener = launched.error ? take(launched.id) : find(launched.id);
  if (listener != nullptr) listener->on_launched(std::move(launched));
}

void Launcher::lose(const Error& error) {
  close();
  if (child_) {
    const auto status = child_->wait_for(kDeathMs);
    const bool clean = status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
    if (!clean && hello_) jail::sweep_after(*hello_);
  }
  const std::weak_ptr alive = alive_;
  for (const auto& [id, listener] : std::exchange(listeners_, {})) {
    if (alive.expired()) return;
    listener->on_lost(error);
  }
  child_.reset();
  if (!alive.expired() && gone_) gone_(error);
}

LaunchListener* Launcher::find(std::uint64_t id) const {
  const auto it = listeners_.find(id);
  return it == listeners_.end() ? nullptr : it->second;
}

LaunchListener* Launcher::take(std::uint64_t id) {
  const auto node = listeners_.extract(id);
  return node.empty() ? nullptr : node.mapped();
}

void Launcher::close() {
  if (wait_.is_open()) wait_.release();
  socket_.reset();
}

void Launcher::shutdown() {
  close();
  const auto child = std::exchange(child_, nullptr);
  if (!child || child->wait_for(kPatienceMs)) return;
  boost::system::error_code ignored;
  child->process.terminate(ignored);
  (void)child->wait_for(kDeathMs);
  if (hello_) jail::sweep_after(*hello_);
}

}  // namespace runner
