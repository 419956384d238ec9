// A session's records as a Jupyter notebook, nbformat 4.4: a cell an execution, with its outputs
// and images in place; files that were put in stand between them. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "runner/trace/record.h"

namespace runner::trace {

// `records` in the order of `seq`, all of one session; `unreadable`: how many more could not be
// read.
std::string to_notebook(const std::vector<Record>& records, std::size_t unreadable);

}  // namespace runner::trace
