#include "tests/support/jail_client.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ostream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace support {
namespace {

using Clock = std::chrono::steady_clock;

// Nobody's, and not 65534, which the kernel shows for every id a user namespace does not map.
constexpr uid_t kTestUser = 64321;

std::string spawner_path() {
  const char* path = std::getenv("SANDGLASS_SPAWNER");
  return public_path(path != nullptr ? path : SANDGLASS_TEST_SPAWNER);
}

[[noreturn]] void exec_spawner(const SpawnerOptions& options, const std::string& path, int socket) {
  // Leaks of a process that ends by _exit or SIGKILL are none.
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  ::unsetenv("SANDGLASS_CGROUP");
  if (!options.backend.cgroup.empty())
    ::setenv("SANDGLASS_CGROUP", options.backend.cgroup.c_str(), 1);
  if (::dup2(socket, jail::kSpawnerSocket) < 0) ::_exit(98);
  if (options.backend.as == As::kUser && ::geteuid() == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(kTestUser, kTestUser, kTestUser) != 0 ||
        ::setresuid(kTestUser, kTestUser, kTestUser) != 0)
      ::_exit(97);
  }
  if (options.before_exec) options.before_exec();
  std::vector<std::string> argv = options.wrap;
  argv.push_back(path);
  std::vector<char*> pointers;
  pointers.reserve(argv.size() + 1);
  for (std::string& a : argv) pointers.push_back(a.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  ::_exit(99);
}

milliseconds left_until(Clock::time_point end) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(end - Clock::now()));
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Backend& backend) {
  return out << (backend.cgroup.empty() ? "any cgroup" : "cgroup " + backend.cgroup)
             << (backend.as == As::kUser ? ", unprivileged" : "");
}

std::vector<Backend> backends() {
  if (::geteuid() != 0) return {{"", As::kSelf}, {"none", As::kSelf}};
  return {
      {"", As::kSelf}, {"v1", As::kSelf}, {"v2", As::kSelf}, {"none", As::kSelf}, {"", As::kUser}};
}

Spawner::Spawner(const SpawnerOptions& options) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw std::runtime_error("socketpair");
  socket_.reset(pair[0]);
  const jail::Fd theirs(::fcntl(pair[1], F_DUPFD_CLOEXEC, 50));
  jail::Fd(pair[1]).reset();
  ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  const std::string path = spawner_path();
  pid_ = ::fork();
  if (pid_ == 0) exec_spawner(options, path, theirs.get());
  if (options.hello == SpawnerOptions::Hello::kLeave) return;
  auto event = next(seconds(10));
  const auto* hello = event ? std::get_if<jail::Hello>(&*event) : nullptr;
  if (hello == nullptr) throw std::runtime_error("the spawner did not say hello");
  hello_ = *hello;
}

Spawner::~Spawner() { (void)stop(); }

std::optional<int> Spawner::wait(milliseconds patience) {
  if (pid_ <= 0) return std::nullopt;
  int status = 0;
  const bool ended =
      eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, patience);
  if (!ended) return std::nullopt;
  pid_ = -1;
  return status;
}

std::optional<int> Spawner::stop() {
  socket_.reset();
  const auto status = wait(seconds(10));
  if (!status && pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  return status;
}

std::optional<jail::Event> Spawner::next(milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (!gone_) {
    auto event = jail::receive(socket_);
    if (!event) gone_ = true;
    if (event && *event) return std::move(**event);
    if (gone_ || Clock::now() >= end) break;
    pollfd wait{socket_.get(), POLLIN, 0};
    ::poll(&wait, 1, static_cast<int>(left_until(end).count()));
  }
  return std::nullopt;
}

void Spawner::take(jail::Event event) {
  if (auto* l = std::get_if<jail::Launched>(&event)) {
    Run& run = runs_[l->id];
    launched_[l->id] = true;
    run.error = l->error;
    run.workdir = std::move(l->workdir);
    if (l->error) ended_[l->id] = true;
  }
  if (auto* d = std::get_if<jail::DeniedList>(&event)) runs_[d->id].denied = std::move(d->denied);
  if (auto* e = std::get_if<jail::Ended>(&event)) {
    runs_[e->id].ended = *e;
    ended_[e->id] = true;
  }
}

jail::Launched Spawner::launched(std::uint64_t id, milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (!launched_[id]) {
    auto event = next(left_until(end));
    if (!event) throw std::runtime_error("no Launched in time");
    if (auto* l = std::get_if<jail::Launched>(&*event); l != nullptr && l->id == id) {
      jail::Launched copy;
      copy.id = id;
      copy.error = l->error;
      copy.init = std::move(l->init);
      copy.workdir = jail::Fd(::fcntl(l->workdir.get(), F_DUPFD_CLOEXEC, 3));
      take(std::move(*event));
      return copy;
    }
    take(std::move(*event));
  }
  throw std::runtime_error("Launched has been taken already");
}

Launch Spawner::start(const jail::Fd& plan, const std::vector<std::string>& argv) {
  return start(plan, payload_command(argv));
}

Launch Spawner::start(const jail::Fd& plan, const jail::Command& command,
                      std::vector<jail::Fd> inputs) {
  const auto file = jail::make_command(command);
  if (!file) throw std::runtime_error(jail::describe(file.error(), nullptr));
  Launch launch{++last_id_, file_with(""), file_with("")};
  const jail::Fd in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto sent =
      jail::send_launch(socket_, launch.id, plan, *file, {in, launch.out, launch.err}, inputs);
  if (!sent) throw std::runtime_error(jail::describe(sent.error(), nullptr));
  return launch;
}

Run Spawner::finish(const Launch& launch, milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (!ended_[launch.id]) {
    auto event = next(left_until(end));
    if (!event) throw std::runtime_error(gone_ ? "the spawner has gone" : "no end in time");
    take(std::move(*event));
  }
  Run run = std::move(runs_[launch.id]);
  runs_.erase(launch.id);
  run.out = text_of(launch.out);
  run.err = text_of(launch.err);
  return run;
}

Run Spawner::run(const jail::Spec& spec, const std::vector<std::string>& argv,
                 milliseconds patience) {
  return finish(start(plan_of(spec), argv), patience);
}

Run Spawner::run(const jail::Spec& spec, const jail::Command& command,
                 std::vector<jail::Fd> inputs) {
  return finish(start(plan_of(spec), command, std::move(inputs)));
}

jail::Spec base_spec() {
  jail::Spec spec;
  jail::Mount payloads =
      entry(jail::MountKind::kBind, public_path(SANDGLASS_TEST_PAYLOADS), "/payloads");
  payloads.exec = jail::Exec::kExec;
  spec.mounts = {payloads, entry(jail::MountKind::kDevice, "/dev/null", "/dev/null"),
                 tmpfs("/tmp", jail::mib(16), 1000), tmpfs("/mnt/data", jail::mib(16), 1000)};
  spec.code_dir = "/run/sandglass";
  spec.totals.memory = jail::mib(128);
  spec.totals.processes = 50;
  spec.filter = allow_all_but({"socket", "ptrace", "mount", "unshare"});
  return spec;
}

jail::Command payload_command(const std::vector<std::string>& argv) {
  jail::Command command;
  command.argv = argv;
  if (argv.at(0).find('/') == std::string::npos) command.argv[0] = "/payloads/" + argv[0];
  return command;
}

jail::Fd plan_of(const jail::Spec& spec) {
  auto plan = jail::make_plan(spec);
  if (!plan) throw std::runtime_error(jail::describe(plan.error(), &spec));
  return std::move(*plan);
}

jail::Fd file_with(const std::string& text) {
  jail::Fd file(::memfd_create("test", MFD_CLOEXEC));
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("write");
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string text_of(const jail::Fd& file) {
  struct stat st {};
  if (::fstat(file.get(), &st) != 0) throw std::runtime_error("fstat");
  std::string text(static_cast<std::size_t>(st.st_size), '\0');
  const ssize_t n = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

bool eventually(const std::function<bool()>& condition, milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (!condition()) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

bool is_ready(const Launch& launch, milliseconds patience) {
  return eventually([&] { return text_of(launch.out).find("ready yes\n") != std::string::npos; },
                    patience);
}

}  // namespace support
