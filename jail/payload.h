// The payload, from clone to execve.
//
// Its process is made while the jail is still empty, and waits there with everything given up that
// can be given up, the filter included: what a launch then costs is the execve. It shares init's
// memory, open files and folder (clone(2): CLONE_VM, CLONE_FILES, CLONE_FS) until execve takes them
// apart, so init hands it standard streams, a folder and a command without a word between them.
// After fork: no allocation.
#pragma once

#include <atomic>
#include <cstdint>

#include "jail/fd.h"
#include "jail/pipe.h"
#include "jail/plan.h"
#include "jail/restrict.h"

namespace jail {

class Payload {
 public:
  Payload() = default;
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;
  Payload(Payload&&) = delete;
  Payload& operator=(Payload&&) = delete;
  ~Payload() = default;

  // Makes the process and returns once it waits: kFork, kReport, or the step that failed in it.
  Result<void> make(const PlanView& plan, const JailFacts& facts, const Fd& landlock);

  // Its process id in the jail; -1 before make().
  [[nodiscard]] pid_t pid() const { return pid_; }
  // The listener of its filter; invalid when the filter has nothing to report. Once.
  [[nodiscard]] Fd take_listener() { return std::move(listener_); }

  // Has it execute the command, on what are now init's standard streams and folder. Returns once
  // init shares nothing with it any more. kExec with an errno when it is no program.
  Result<void> exec(const CommandView& command);

 private:
  static int body(void* self);
  void restrict_and_wait();

  // What both processes read and write, in turns.
  const PlanView* plan_ = nullptr;
  const JailFacts* facts_ = nullptr;
  const Fd* landlock_ = nullptr;
  const char* program_ = nullptr;
  const CommandView* command_ = nullptr;
  SetupError error_;
  std::atomic<bool> executes_{false};
  Pipe report_;                          // from it: a byte once it waits
  Pipe order_;                           // to it: a byte, and it executes
  std::atomic<std::int32_t> shares_{0};  // the kernel clears it when its memory is its own
  Fd listener_;
  pid_t pid_ = -1;
};

}  // namespace jail
