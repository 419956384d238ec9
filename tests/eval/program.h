// Runs the built program as a child and says what came of it. One thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "jail/fd.h"

namespace eval_test {

struct Ran {
  int code = -1;  // the exit code, or 128 + the signal
  std::string out;
  std::string err;
};

struct How {
  std::string input = {};                    // on stdin, as a file
  std::function<void()> in_child = nullptr;  // runs in the child before it becomes the program
};

// sandglass ARGS...
Ran sandglass(const std::vector<std::string>& args, const How& how = {});

// sandglass ARGS..., with pipes for stdin and stdout: for talking in turns.
class Talk {
 public:
  explicit Talk(const std::vector<std::string>& args);
  ~Talk();
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;
  Talk(Talk&&) = delete;
  Talk& operator=(Talk&&) = delete;

  void say(const std::string& text) const;
  // What can be read until `text` has come, at most five seconds.
  [[nodiscard]] std::string hear(const std::string& text) const;
  void hang_up() { to_.reset(); }         // the end of its stdin
  void stop_reading() { from_.reset(); }  // nobody reads its stdout any more
  void make_input_non_blocking() const;
  int wait();  // the exit code, or 128 + the signal

 private:
  pid_t pid_ = -1;
  jail::Fd to_;
  jail::Fd from_;
};

// For How::in_child. None changes the host: the first holds in a new user namespace of the child's,
// the others for the child and its children.
void forbid_user_namespaces_by_limit();
void forbid_user_namespaces_by_filter();
void forbid_processes();  // threads too

}  // namespace eval_test
