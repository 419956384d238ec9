// Times launches of `standard` from a running spawner's pool beside bare fork+exec, looks at the
// memory of empty jails, makes and tears down hundreds, and looks for what is left. Prints JSON;
// bench.py reads it.
//
//   pool_bench SPAWNER POLICIES ROUNDS
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "jail/client.h"
#include "policies/compile.h"
#include "policies/load.h"
#include "tests/support/leftovers.h"

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::vector<double>;

constexpr std::uint32_t kPool = 4;
constexpr int kWarmUp = 50;
constexpr int kJails = 500;
// Between launches: longer than a jail takes to be made, so that a launch finds one ready.
constexpr auto kPause = std::chrono::milliseconds(10);

template <class T>
T need(jail::Result<T> result) {
  if (!result) throw std::runtime_error(jail::describe(result.error(), nullptr));
  return std::move(*result);
}

void need(const jail::Result<void>& result) {
  if (!result) throw std::runtime_error(jail::describe(result.error(), nullptr));
}

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

jail::Spec standard(const char* folder) {
  const auto library = policies::Library::open(folder);
  if (!library) throw std::runtime_error(library.error().text);
  const auto policy = library->find("standard");
  if (!policy) throw std::runtime_error(policy.error().text);
  auto spec = policies::to_spec(*policy, library->syscalls(), {});
  if (!spec) throw std::runtime_error(spec.error().text);
  return std::move(*spec);
}

class Spawner {
 public:
  explicit Spawner(const char* program) {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::runtime_error("socketpair");
    socket_ = jail::Fd(ends[0]);
    const jail::Fd theirs(ends[1]);
    if (::fcntl(socket_.get(), F_SETFL, O_NONBLOCK) != 0) throw std::runtime_error("fcntl");
    pid_ = ::fork();
    if (pid_ == 0) {
      // dup2(2): does nothing, CLOEXEC included, when both numbers are the same.
      const int moved = ::fcntl(theirs.get(), F_DUPFD_CLOEXEC, jail::kSpawnerSocket + 1);
      ::dup2(moved, jail::kSpawnerSocket);
      ::execl(program, program, nullptr);
      std::_Exit(127);
    }
    hello_ = std::get<jail::Hello>(next());
  }
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;
  Spawner(Spawner&&) = delete;
  Spawner& operator=(Spawner&&) = delete;
  ~Spawner() {
    socket_.reset();
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] const jail::Fd& socket() const { return socket_; }
  [[nodiscard]] const jail::Hello& hello() const { return hello_; }

  // The next event; an error after ten seconds of silence.
  jail::Event next() {
    for (;;) {
      if (auto event = need(jail::receive(socket_))) return std::move(*event);
      pollfd poll{socket_.get(), POLLIN, 0};
      if (::poll(&poll, 1, 10'000) == 0) throw std::runtime_error("the spawner is silent");
    }
  }

 private:
  jail::Fd socket_;
  pid_t pid_ = -1;
  jail::Hello hello_;
};

struct Shape {
  jail::Fd plan;
  jail::Fd command;
  jail::Fd null;
};

// From before the launch until its end is known.
double launch(Spawner& spawner, const Shape& shape) {
  static std::uint64_t id = 0;
  const auto start = Clock::now();
  need(jail::send_launch(spawner.socket(), ++id, shape.plan, shape.command,
                         {shape.null, shape.null, shape.null}, {}));
  for (;;) {
    const jail::Event event = spawner.next();
    if (const auto* launched = std::get_if<jail::Launched>(&event)) {
      if (launched->error) throw std::runtime_error(jail::describe(*launched->error, nullptr));
    } else if (const auto* ended = std::get_if<jail::Ended>(&event)) {
      if (!ended->exited || ended->wait_status != 0) throw std::runtime_error("/bin/true failed");
      return since(start);
    }
  }
}

double fork_exec() {
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/true", "true", nullptr);
    std::_Exit(127);
  }
  int status = -1;
  if (::waitpid(child, &status, 0) != child || status != 0) throw std::runtime_error("fork+exec");
  return since(start);
}

// The sum of the fields "NAME: N kB" whose name begins with `prefix`.
long sum_kib(const std::string& path, const std::string& prefix) {
  std::ifstream file(path);
  long sum = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(prefix, 0) == 0) sum += std::stol(line.substr(line.find(':') + 1));
  }
  return sum;
}

// Private memory of each empty jail's init. None where /proc does not show it to us (rootless: the
// inits are not dumpable).
std::vector<long> empty_jails_kib(std::int32_t worker) {
  const std::string pid = std::to_string(worker);
  std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
  std::vector<long> found;
  for (std::string child; children >> child;) {
    const long kib = sum_kib("/proc/" + child + "/smaps_rollup", "Private_");
    if (kib > 0) found.push_back(kib);
  }
  return found;
}

long spawner_kib(const jail::Hello& hello) {
  return sum_kib("/proc/" + std::to_string(hello.worker_pid) + "/status", "VmRSS") +
         sum_kib("/proc/" + std::to_string(hello.keeper_pid) + "/status", "VmRSS");
}

template <class T>
std::string list(const std::vector<T>& values) {
  std::ostringstream out;
  for (const T& value : values) out << (out.tellp() == 0 ? "" : ", ") << value;
  return "[" + out.str() + "]";
}

// Lines become JSON strings.
std::string lines(const std::string& text) {
  std::vector<std::string> quoted;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::string safe;
    for (const char c : line) safe += c == '"' || c == '\\' || c < ' ' ? '?' : c;
    quoted.push_back('"' + safe + '"');
  }
  return list(quoted);
}

void measure(const char* program, const char* folder, int rounds) {
  const support::Leftovers leftovers;
  Seconds bare;
  Seconds pooled;
  Seconds back_to_back;
  std::vector<long> empty;
  long growth = 0;
  {
    Spawner spawner(program);
    jail::Command command;
    command.argv = {"/bin/true"};
    const Shape shape{need(jail::make_plan(standard(folder))), need(jail::make_command(command)),
                      jail::Fd(::open("/dev/null", O_RDWR | O_CLOEXEC))};
    need(jail::send_pool(spawner.socket(), shape.plan, kPool));
    for (int i = 0; i < kWarmUp; ++i) launch(spawner, shape);
    std::this_thread::sleep_for(50 * kPause);
    empty = empty_jails_kib(spawner.hello().worker_pid);
    for (int i = 0; i < rounds; ++i) {
      std::this_thread::sleep_for(kPause);
      bare.push_back(fork_exec());
      std::this_thread::sleep_for(kPause);
      pooled.push_back(launch(spawner, shape));
    }
    std::this_thread::sleep_for(50 * kPause);
    const long before = spawner_kib(spawner.hello());
    for (int i = 0; i < kJails; ++i) back_to_back.push_back(launch(spawner, shape));
    std::this_thread::sleep_for(50 * kPause);
    growth = spawner_kib(spawner.hello()) - before;
  }
  std::cout << "{\"fork_exec_s\": " << list(bare) << ",\n \"pool_s\": " << list(pooled)
            << ",\n \"back_to_back_s\": " << list(back_to_back)
            << ",\n \"empty_jail_private_kib\": " << list(empty) << ",\n \"growth_kib\": " << growth
            << ",\n \"jails\": " << kJails << ",\n \"leftovers\": " << lines(leftovers.found())
            << "}\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || std::atoi(argv[3]) < 1) {
    std::cerr << "usage: pool_bench SPAWNER POLICIES ROUNDS\n";
    return 2;
  }
  try {
    measure(argv[1], argv[2], std::atoi(argv[3]));
  } catch (const std::exception& error) {
    std::cerr << "pool_bench: " << error.what() << '\n';
    return 1;
  }
}
