// What `replay --json` prints. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "runner/replay/replay.h"

namespace runner::cli {

// {"same", "different", "skipped", "failed": counts, "problems": [text], "records": [{"id",
// "session", "seq", "kind", "title", "verdict", "text", "differences": [{"what", "recorded",
// "now"}]}]}: one line.
std::string replay_json(const std::vector<replay::Replayed>& all,
                        const std::vector<std::string>& problems);

}  // namespace runner::cli
