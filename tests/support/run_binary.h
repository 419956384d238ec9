// The built sandglass as a child process: arguments, stdin and environment in; output, exit code
// and time out. What goes wrong on the test's own side, and a child that takes longer than its
// patience (it is killed then), is a std::runtime_error. One thread.
//
//   const support::Ran ran = support::run_binary({.args = {"run", "-c", "print(1)"}});
//   CHECK(ran.code == 0);
//   CHECK(ran.out == "1\n");
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "jail/fd.h"

namespace support {

struct Call {
  std::vector<std::string> args = {};           // argv[1] and on
  std::string input = {};                       // stdin; its end follows
  std::vector<std::string> env = {};            // beside PATH, HOME and TMPDIR, which are ours
  std::string cwd = {};                         // empty: ours
  std::function<void()> before_exec = nullptr;  // in the child
  std::chrono::milliseconds patience = std::chrono::seconds(40);
  std::string program = {};  // empty: sandglass
};

struct Ran {
  int code = 0;  // the exit status; -N: ended by signal N
  std::string out;
  std::string err;
  std::chrono::milliseconds wall{0};
};

// The path of the built program (SANDGLASS_BIN), and of the folder of tests/payloads beside it.
std::string sandglass_path();
std::string payloads_path();

class Child {
 public:
  // Input stays open until finish() when `input` is kHeld.
  enum class Input { kAll, kHeld };
  explicit Child(const Call& call, Input input = Input::kAll);
  ~Child();  // kills it if it still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&&) = delete;
  Child& operator=(Child&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Collects output until stdout holds `text`; false when it ends, or after `patience`.
  bool says(const std::string& text, std::chrono::milliseconds patience = std::chrono::seconds(20));
  // The same of stderr.
  bool warns(const std::string& text, std::chrono::milliseconds patience);
  [[nodiscard]] const std::string& err() const { return ran_.err; }
  void write(const std::string& text) { input_ += text; }
  void signal(int number) const;
  Ran finish();

 private:
  using Clock = std::chrono::steady_clock;
  bool pump(Clock::time_point until);  // one wait; false when both streams have ended
  void feed();

  std::chrono::milliseconds patience_;
  Clock::time_point start_ = Clock::now();
  pid_t pid_ = -1;
  Input hold_;
  std::string input_;
  std::size_t fed_ = 0;
  jail::Fd in_;
  jail::Fd out_;
  jail::Fd err_;
  Ran ran_;
};

Ran run_binary(const Call& call);

// Runs `deed` in a forked child and gives its exit status; -N: ended by signal N.
int in_child(const std::function<int()>& deed);

// For before_exec and in_child: namespaces of one's own (CLONE_NEW...) in a user namespace of one's
// own, in which our ids are root's; mounts are private. Ends the process with 99 where that fails.
void enter_namespaces(int flags);

}  // namespace support
