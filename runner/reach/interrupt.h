// Signals that ask a run to end: while something is set up that must be taken away again, they are
// only noted, and who works looks here. Several threads may ask at once.
#pragma once

#include <signal.h>

#include <array>
#include <chrono>

#include "runner/error.h"

namespace runner::reach {

// While one lives, SIGINT, SIGTERM and SIGHUP are noted instead of ending us, except those that our
// caller has us ignore (nohup); a file that meets `ulimit -f` is an error, and no death (SIGXFSZ).
// The destructor puts back what was. One at a time; made before other threads are started.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  Interrupt(Interrupt&&) = delete;
  Interrupt& operator=(Interrupt&&) = delete;

 private:
  std::array<struct sigaction, 4> before_{};
};

// One of them has come since the program was started.
bool is_interrupted() noexcept;

// What is taken away because we are to end must not be cut short by that: forgets it, until the
// next signal.
void forget_interrupt() noexcept;

// kUsage: what a run answers that was interrupted.
tl::unexpected<Error> interrupted();

// How long to wait at most before is_interrupted() is asked again.
constexpr std::chrono::milliseconds kGlance{100};

}  // namespace runner::reach
