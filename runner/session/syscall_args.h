// The main arguments of a refused system call, as words: `AF_INET, SOCK_STREAM`. What needs a
// pointer to be followed is shown only if the listener copied it (Denied.text). The text comes
// from the payload: the result is printable (see text.h), never evidence. Pure; any thread.
#pragma once

#include <string>

#include "jail/client.h"

namespace runner {

// Empty for calls without telling arguments (fork, getppid ...).
std::string describe_args(const jail::Denied& denied);

}  // namespace runner
