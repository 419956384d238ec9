// What probes look for outside of a sandbox, set up for one run of the suite and gone with this
// object: a folder open to everybody with a canary file, sockets in it and a copy of the helper, a
// listener on 127.0.0.1, an abstract local socket, a file in /tmp, a process that waits, a secret
// in our own environment, and two descriptors that a child would inherit. Harmless all: whoever
// reaches them has reached nothing of the host's owner.
//
// While it lives, signals that would end us are noted (interrupt.h), and who was left behind by its
// parent becomes a child of ours, to be killed at the end.
//
// To be made before other threads are started (it changes the environment), and to be gone before
// children are started that are to live on; used by any thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jail/fd.h"
#include "runner/error.h"
#include "runner/reach/interrupt.h"

namespace runner::reach {

class Outside {
  struct Key {};

 public:
  // kHost: it could not be set up, and why; fewer than kOpenFiles may be open. kFiles: the
  // installation lacks a program.
  static Result<std::unique_ptr<Outside>> make();
  explicit Outside(Key /*made by make() only*/) {}
  ~Outside();
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  Outside(Outside&&) = delete;
  Outside& operator=(Outside&&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string helper() const { return folder_ + "/sandglass-reach"; }
  // The unprivileged user that throw-away processes are.
  [[nodiscard]] uid_t uid() const { return uid_; }
  // A fresh folder for one process of that user, below folder(); `name` is a file name.
  [[nodiscard]] Result<std::string> work_folder(const std::string& name) const;
  // A file of that user in folder(), for probes that change it.
  [[nodiscard]] Result<std::string> own_file(const std::string& name) const;
  void remove(const std::string& path) const noexcept;

  // The environment that tells probes where all of this is. `helper`: as the probe sees it.
  [[nodiscard]] std::vector<std::string> environment(const std::string& helper,
                                                     const std::string& own_file) const;
  // Without what differs from one run to the next: "<outside>" for folder(), and so on.
  [[nodiscard]] std::string without_names(std::string text) const;

  // A probe needs descriptors with high numbers, and several run at once.
  static constexpr int kOpenFiles = 1024;
  // What our caller's environment must never give to anybody.
  static constexpr const char* kSecretVariable = "SANDGLASS_PROBE_SECRET";

 private:
  Result<void> files();
  Result<void> listeners();
  Result<void> victim();
  Result<void> descriptors();
  void end_strays() const;

  Interrupt interrupt_;
  std::vector<pid_t> earlier_children_;  // our caller's, before it became us by execve(2)
  std::string folder_;
  jail::Fd held_;  // folder_, locked: it is in use
  std::string tmp_file_;
  std::string abstract_;
  std::string hostname_;
  uid_t uid_ = 0;
  int port_ = 0;
  pid_t victim_ = -1;
  jail::Fd victim_input_;
  std::vector<jail::Fd> sockets_;
  std::vector<jail::Fd> inherited_;
};

// <dir of the program>/../lib/sandglass/sandglass-layers.
Result<std::string> layers_path();

}  // namespace runner::reach
