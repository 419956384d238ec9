// The child that becomes the payload: from fork to execve. After fork: no allocation.
#pragma once

#include "jail/fd.h"
#include "jail/plan.h"
#include "jail/restrict.h"

namespace jail {

// What the child tells init over a close-on-exec pipe; end of file means execve worked.
struct ChildReport {
  SetupError error;            // step kNone: no error, `listener` is set
  std::int32_t listener = -1;  // number of the seccomp listener in the child
};

struct PayloadFds {
  Fd in;
  Fd out;
  Fd err;
  Fd report;  // write end
  Fd go;      // read end: one byte once init has taken the listener
};

[[noreturn]] void run_payload(const PlanView& plan, const CommandView& command,
                              const JailFacts& facts, const Fd& landlock, PayloadFds fds);

}  // namespace jail
