// A small caller of sandglass-spawner for tests: starts it, launches payloads, waits for events,
// always with a deadline. What goes wrong on the test's own side is a std::runtime_error. One
// thread.
//
//   support::Spawner spawner;
//   const support::Run run = spawner.run(support::base_spec(), {"exits_with", "7"});
//   CHECK(WEXITSTATUS(run.ended.wait_status) == 7);
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jail/client.h"
#include "jail/fd.h"
#include "tests/support/sample_specs.h"
#include "tests/support/sanitized.h"

namespace support {

using std::chrono::milliseconds;
using std::chrono::seconds;

// kUser: when the test runs as root, the spawner is started as an unprivileged user.
enum class As { kSelf, kUser };

// What a spawner is made to use: SANDGLASS_CGROUP (empty: not set) and a user.
struct Backend {
  std::string cgroup;
  As as = As::kSelf;
};
std::ostream& operator<<(std::ostream& out, const Backend& backend);

// All that this user can try. For `GENERATE(from_range(support::backends()))`.
std::vector<Backend> backends();

struct SpawnerOptions {
  Backend backend;
  std::vector<std::string> wrap = {};           // put before the spawner's own argv
  std::function<void()> before_exec = nullptr;  // in the child
  enum class Hello { kAwait, kLeave };
  Hello hello = Hello::kAwait;
};

// A launch under way; its output is collected in memfds, so that nobody waits for a reader.
struct Launch {
  std::uint64_t id = 0;
  jail::Fd out;
  jail::Fd err;
};

struct Run {
  std::optional<jail::SetupError> error;
  jail::Ended ended;
  std::vector<jail::Denied> denied;
  std::string out;
  std::string err;
  jail::Fd workdir;
};

class Spawner {
 public:
  explicit Spawner(const SpawnerOptions& options = {});
  explicit Spawner(const Backend& backend) : Spawner(SpawnerOptions{.backend = backend}) {}
  // Closes the connection and waits for the spawner's end, at most 10 s.
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;
  Spawner(Spawner&&) = delete;
  Spawner& operator=(Spawner&&) = delete;

  [[nodiscard]] const jail::Fd& socket() const { return socket_; }
  [[nodiscard]] const jail::Hello& hello() const { return hello_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

  // argv[0] without a slash is one of tests/payloads.
  Launch start(const jail::Fd& plan, const std::vector<std::string>& argv);
  Launch start(const jail::Fd& plan, const jail::Command& command,
               std::vector<jail::Fd> inputs = {});
  Run finish(const Launch& launch, milliseconds patience = seconds(30));
  Run run(const jail::Spec& spec, const std::vector<std::string>& argv,
          milliseconds patience = seconds(30));
  Run run(const jail::Spec& spec, const jail::Command& command, std::vector<jail::Fd> inputs = {});

  // Next event of any kind; nullopt after `patience`, or when the spawner has gone (see gone()).
  std::optional<jail::Event> next(milliseconds patience);
  [[nodiscard]] bool gone() const { return gone_; }
  jail::Launched launched(std::uint64_t id, milliseconds patience = seconds(20));

  // Closes the connection; the wait status of the spawner, or nullopt after 10 s (then killed).
  std::optional<int> stop();
  void hang_up() { socket_.reset(); }
  std::optional<int> wait(milliseconds patience);

 private:
  jail::Fd socket_;
  pid_t pid_ = -1;
  jail::Hello hello_;
  bool gone_ = false;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Run> runs_;
  std::map<std::uint64_t, bool> launched_;
  std::map<std::uint64_t, bool> ended_;
  void take(jail::Event event);
};

// tmpfs /tmp, /mnt/data (16 MiB, 1000 inodes each), /dev/null, the payloads at /payloads, code_dir
// /run/sandglass; 128 MiB, 50 processes; everything allowed but socket, ptrace, mount and unshare.
jail::Spec base_spec();

// {"/payloads/NAME", ...} with an empty environment, in /mnt/data.
jail::Command payload_command(const std::vector<std::string>& argv);

jail::Fd plan_of(const jail::Spec& spec);     // throws with describe()'s line
jail::Fd file_with(const std::string& text);  // a memfd, at its start
std::string text_of(const jail::Fd& file);    // all of a memfd

// "key value" lines; a key that comes more than once keeps its first value.
std::map<std::string, std::string> told(const std::string& out);
std::vector<std::string> lines_of(const std::string& text);

// Until `condition` holds; false after `patience`.
bool eventually(const std::function<bool()>& condition, milliseconds patience = seconds(5));
// Until the payload has said "ready".
bool is_ready(const Launch& launch, milliseconds patience = seconds(10));

// "/proc/PID/stat" and the like of a process, empty when it is gone.
std::string proc_text(pid_t pid, const std::string& name);
bool is_alive(pid_t pid);    // a zombie is not
bool is_stopped(pid_t pid);  // by a signal
long rss_kib(pid_t pid);
double cpu_seconds(pid_t pid);  // user + system of this process alone
std::vector<pid_t> descendants_of(pid_t pid);
std::size_t count_fds(pid_t pid);  // 0 where we may not look

// A path that the jail's uid can open: `path` itself, or a copy where its folders are closed.
std::string public_path(const std::string& path);

}  // namespace support
