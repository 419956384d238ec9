// A comparison for a person at a terminal. Pure; any thread.
#pragma once

#include <string>

#include "runner/reach/compare.h"

namespace runner::reach {

// Figures first, then what each closes that the other leaves open, then all else that differs.
// Fits 100 columns where the names do.
std::string compare_text(const Comparison& comparison, Colours colours);

// "tight stops 30 probes that get through under loose, and closes 214 system calls ...". For the
// head of a page as well. Sentences, no markup.
std::string compare_summary(const Comparison& comparison);

}  // namespace runner::reach
