// Sums that are too deep, told by their shape. Pure; no allocation; any thread.
#pragma once

#include <string_view>

namespace runner::arithmetic {

// True for a flat sum of plain numbers, with * and / and signs but no bracket, whose tree is deeper
// than kMaxDepth. That is what the walk finds first, before any value: each + and - between two
// operands puts the first one a level down. False for every other text, and for `01` and the like.
bool is_deep_sum(std::string_view text);

}  // namespace runner::arithmetic
