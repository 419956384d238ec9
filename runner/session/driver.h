// The shipped drivers (runner/interpreters) as files and as a command of a jail, for sessions whose
// interpreter is executed. Blocking file I/O; any thread.
#pragma once

#include <string>

#include "jail/fd.h"
#include "jail/spec.h"
#include "policies/policy.h"
#include "runner/error.h"
#include "runner/session/home.h"

namespace runner {

// python, node, bash.
bool has_driver(const std::string& language);

// Puts the language's driver into `spec`, read-only, and makes the command that starts it with its
// channel on fd 3. kFiles: the driver is missing from the installation; kHost: the interpreter.
Result<jail::Fd> put_driver(jail::Spec& spec, const Home& home, const policies::Policy& policy,
                            const std::string& language);

}  // namespace runner
