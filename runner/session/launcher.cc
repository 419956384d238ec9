#include "runner/session/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "runner/session/boost_process.h"
#include "runner/session/outcome.h"

namespace runner {
namespace {

namespace asio = boost::asio;
namespace process = boost::process::v2;
using Executor = asio::io_context::executor_type;

constexpr int kPatienceMs = 10'000;  // for the spawner to take its jails down
constexpr int kDeathMs = 1'000;      // for a spawner that has closed its socket to be gone

// Boost 1.81's bind_fd lacks a return statement. What may run between fork and exec only.
struct SpawnerSetup {
  int socket;
  int null;

  process::error_code on_setup(process::posix::default_launcher& launcher,
                               const process::filesystem::path&, const char* const*&) const {
    launcher.fd_whitelist.push_back(jail::kSpawnerSocket);
    return {};
  }

  process::error_code on_exec_setup(process::posix::default_launcher&,
                                    const process::filesystem::path&, const char* const*&) const {
    // A jail's first process must hold no file or terminal of our caller's.
    bool ok = ::dup2(null, STDIN_FILENO) >= 0 && ::dup2(null, STDOUT_FILENO) >= 0;
#if defined(NDEBUG)
    ok = ok && ::dup2(null, STDERR_FILENO) >= 0;  // a debug build may have something to say
#endif
    // dup2(2) leaves a descriptor that is already in place, and its FD_CLOEXEC, alone.
    ok = ok && (socket == jail::kSpawnerSocket ? ::fcntl(socket, F_SETFD, 0)
                                               : ::dup2(socket, jail::kSpawnerSocket)) >= 0;
    // A shell starts background jobs with SIGINT ignored, and that would reach the payload.
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::setsid();  // no terminal: neither its ^C nor its job control
    return ok ? process::error_code() : process::error_code(errno, process::system_category());
  }
};

Error spawner_error(std::string text, jail::SetupError setup) {
  return Error{ErrorKind::kSpawner, std::move(text), setup};
}

std::string death_text(int status) {
  if (WIFSIGNALED(status)) return "it was killed by " + signal_text(WTERMSIG(status));
  return "it exited with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

struct Launcher::Child {
  process::basic_process<Executor> process;

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
  std::array<int, 2> ends{};
  const jail::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid() || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return tl::unexpected(spawner_error(
        "cannot make the spawner's socket: " + jail::errno_name(errno) + "; raise ulimit -n",
        {jail::Step::kSpawnerStart, 0, errno}));
  }
  socket_.reset(ends[0]);
  const jail::Fd theirs(ends[1]);
  ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);

  static constexpr std::array<const char*, 1> kNoEnvironment = {nullptr};
  process::posix::default_launcher launcher;
  launcher.env = kNoEnvironment.data();
  boost::system::error_code error;
  auto started = launcher(io_.get_executor(), error, std::filesystem::path(path),
                          std::vector<std::string>(), SpawnerSetup{theirs.get(), null.get()});
  if (error) {
    socket_.reset();
    return tl::unexpected(
        spawner_error("cannot start " + path + ": " + jail::errno_name(error.value()) +
                          "; it belongs beside the sandglass program: build or install both",
                      {jail::Step::kSpawnerStart, 0, error.value()}));
  }
  child_ = std::make_unique<Child>(Child{std::move(started)});
  wait_.assign(socket_.get());
  wait();
  return {};
}

Result<std::uint64_t> Launcher::launch(const jail::Fd& plan, const jail::Fd& command,
                                       jail::Stdio stdio, std::span<const jail::Fd> inputs,
                                       LaunchListener& listener) {
  const std::uint64_t id = ++last_id_;
  const auto sent = jail::send_launch(socket_, id, plan, command, stdio, inputs);
  if (!sent) {
    return tl::unexpected(spawner_error(
        "the spawner does not answer: " + jail::errno_name(sent.error().error) + "; try again",
        sent.error()));
  }
  listeners_[id] = &listener;
  return id;
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
    auto received = jail::receive(socket_);
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
  }
}

void Launcher::on_launched(jail::Launched launched) {
  // Id 0: the spawner could not even start.
  if (launched.id == 0 && launched.error) {
    return lose(
        Error{ErrorKind::kSpawner, jail::describe(*launched.error, nullptr), launched.error});
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
