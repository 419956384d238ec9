// Reading a small text file whole. Any thread.
#pragma once

#include <string>

#include "policies/error.h"

namespace policies {

// At most 1 MiB; only a regular file (a FIFO would hang us). Errors name the path and the errno.
Result<std::string> read_file(const std::string& path);

}  // namespace policies
