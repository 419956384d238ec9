// The seccomp listener's side: each call the filter denies with USER_NOTIF arrives here, is
// recorded and answered. One object per running jail, in the worker; one thread.
//
// seccomp_unotify(2): a supervisor must not let a call through on what it read from the caller's
// memory, since that can change. Nothing is let through here but the payload's first execve, which
// is made by our own code before any of its own has run.
#pragma once

#include <linux/seccomp.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "jail/fd.h"
#include "jail/wire.h"

namespace jail {

class Notify {
 public:
  // exec_once: the filter forbids execve and the first one must pass.
  enum class FirstExec { kAllowed, kDenied };
  Notify(Fd listener, FirstExec first);

  [[nodiscard]] const Fd& listener() const { return listener_; }

  // Answers one waiting call, if any. Up to kFreeAnswers per jail at once; from then on the
  // caller is made to wait, so that a flood costs the payload's time and not the host's.
  void serve();

  // When the listener may be served again; time_point::min() when at once.
  [[nodiscard]] std::chrono::steady_clock::time_point resume_at() const { return resume_at_; }

  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] bool throttled() const { return total_ > kFreeAnswers; }
  [[nodiscard]] const std::vector<DeniedRecord>& records() const { return records_; }
  // Counts, and answers at once, anew.
  void forget() {
    total_ = 0;
    records_.clear();
  }

  static constexpr std::uint64_t kFreeAnswers = 1000;
  static constexpr std::chrono::milliseconds kPause{10};

 private:
  void record(const seccomp_notif& call);

  Fd listener_;
  FirstExec first_;
  std::uint64_t total_ = 0;
  std::chrono::steady_clock::time_point resume_at_ = std::chrono::steady_clock::time_point::min();
  std::vector<DeniedRecord> records_;
};

}  // namespace jail
