// The walk over the tree: what is on the whitelist is computed, the first thing that is not is
// named, in Python's order. Pure; any thread.
#pragma once

#include <string_view>

#include "runner/arithmetic/arithmetic.h"
#include "runner/arithmetic/ast.h"

namespace runner::arithmetic {

// Fills `verdict` with the value or the refusal of `tree`, which parse() made from `text`.
void walk(std::string_view text, const Tree& tree, const Options& options, Verdict& verdict);

// evaluate() by the full grammar alone: what the fast path must agree with.
Verdict evaluate_in_full(std::string_view text, const Options& options);

}  // namespace runner::arithmetic
