// Which records are to run again: a line of a file, a whole file, or an id in a server's folder;
// and of their sessions everything that came before, since variables and files come from there.
// Blocking; one thread.
#pragma once

#include <string>
#include <vector>

#include "runner/error.h"
#include "runner/trace/record.h"

namespace runner::replay {

struct Asked {
  std::string what;    // "FILE", "FILE:LINE", "-", "exec_...", "eval_...", "cntr_..."
  std::string folder;  // of a server's trace; empty: none
  bool alone = false;  // the one record, without what came before it
};

struct Numbers {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
// What stands or falls together: a session, in the order of `seq`; or one record that has none.
struct Part {
  std::vector<trace::Record> records;
  std::vector<Numbers> missing;      // of the session: records that are not there; the first 100
  std::vector<std::uint64_t> twice;  // numbers that two different records have
};

struct Selection {
  std::vector<Part> parts;
  std::string inputs;  // the folder where inputs are kept; empty: none is known
};

// kFiles, kUsage: no such file, line or id; a line that is no record.
Result<Selection> select(const Asked& asked);

}  // namespace runner::replay
