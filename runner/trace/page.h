// A session's records as a page in Markdown, for people. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "runner/trace/record.h"

namespace runner::trace {

// `records` in the order of `seq`, all of one session; `unreadable`: how many more could not be
// read. What the code printed stands in fences that it cannot close.
std::string to_page(const std::vector<Record>& records, std::size_t unreadable);

// For the end of a page; empty where none is missing.
std::string unreadable_text(std::size_t unreadable);

}  // namespace runner::trace
