// What runs leave that were killed before they could tidy up, in folders that all users share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jail/fd.h"

namespace runner::reach {

// Opens a file or folder named PREFIX + our pid + "-..." and marks it as in use for as long as the
// descriptor lives. Invalid where that fails (errno).
jail::Fd hold(const std::string& path);

// Removes the entries of `folder` that such a run has left: named PREFIX + a pid + "-...", ours,
// held by nobody, and the process is gone (from here, that is: it may live in another pid
// namespace). Returns their names.
std::vector<std::string> sweep_stale(const std::string& folder, std::string_view prefix);

}  // namespace runner::reach
