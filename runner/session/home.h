// Where the program finds what it was installed with. Any thread.
#pragma once

#include <string>

#include "runner/error.h"

namespace runner {

struct Home {
  std::string spawner;            // <dir of this program>/sandglass-spawner
  std::string policies;           // <dir>/../share/sandglass/policies
  std::string share;              // <dir>/../share/sandglass
  std::string join_library = {};  // <dir>/../lib/sandglass/sandglass-join.so
};

// kHost if /proc/self/exe cannot be read (no /proc).
Result<Home> find_home();

}  // namespace runner
