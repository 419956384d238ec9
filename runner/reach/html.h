// A comparison as one page that needs nothing else: no script, no font, no picture from elsewhere.
// Every text in it is escaped: details come from inside a sandbox. Pure; any thread.
#pragma once

#include <string>

#include "runner/reach/compare.h"

namespace runner::reach {

// Where and when the comparison was made.
struct Stamp {
  std::string version;  // of Sandglass
  std::string kernel;   // "Linux 6.1.0-20-amd64"
  std::string time;     // "2026-11-30 01:20 UTC"
};

std::string compare_html(const Comparison& comparison, const Stamp& stamp);

}  // namespace runner::reach
