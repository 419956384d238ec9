// Whether an execution came out as it was recorded, output by output. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "runner/trace/record.h"

namespace runner::replay {

struct Difference {
  std::string what;      // "stdout, line 3", "result 1 as text/plain", "the file /mnt/data/a.csv"
  std::string recorded;  // for people: one line, cut
  std::string now;
};

// In the order: outcome, stdout, stderr, results, error, files. Empty: the same. Times, memory and
// refused calls are not compared; of an error its name and value.
std::vector<Difference> compare(const trace::Record& recorded, const trace::Record& now);

// `stdout, line 3: "a" was recorded, now it is "b"`
std::string text_of(const Difference& difference);

}  // namespace runner::replay
