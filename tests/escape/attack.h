// The table of attacks: what is tried, what must come of it under each policy, and how it is shown
// that the same attempt gets through where no jail is (an attempt that cannot succeed proves
// nothing).
#pragma once

#include <span>
#include <string>
#include <vector>

namespace escape {

enum class Control {
  kBare,    // REACHED as a child of this test; or this kernel was built without the call
  kInside,  // REACHED as root of user, mount, network, IPC and UTS namespaces of its own
  kRoot,    // REACHED as a child of this test, where that is root; else as kListed
  kKernel,  // as a child of this test it comes to the kernel's own check: anything but EPERM
  kShown,   // by the test itself, beside the table
  kListed,  // too harmful or too rare to try outside; that it was tried at all is shown by the
            // list of refused calls
};

// A verdict is "REACHED"; or "denied": EPERM by the policy's filter, and so reported; or an errno
// ("ENOENT"): the policy lets the call through, and there is nothing to be reached by it; or
// "BLOCKED": by any errno. "ENOSYS": the filter's quiet answer.
struct Attack {
  std::vector<std::string> words;  // its name and arguments
  const char* call;                // the system call of "denied"
  const char* tight;
  const char* standard;
  const char* loose;
  Control control;
};

// `program` is one of tests/payloads; options go to sandglass exec.
void check(const std::string& program, std::span<const Attack> attacks,
           const std::vector<std::string>& options = {});

// "REACHED" or "BLOCKED ERRNO": of an attack outside any jail, in a folder of its own.
std::string outside(const std::string& program, const std::vector<std::string>& words);

}  // namespace escape
