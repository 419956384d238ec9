// The names in a folder. Any thread.
#pragma once

#include <string>
#include <vector>

#include "jail/fd.h"

namespace runner::trace {

// Without "." and ".."; in no order. Empty where the folder cannot be read.
std::vector<std::string> names_in(const jail::Fd& folder);

}  // namespace runner::trace
