// The walk over the tree: what is on the whitelist is computed, the first thing that is not is
// named, in Python's order. Pure; any thread.
#pragma once

#include <string_view>

#include "runner/arithmetic/arithmetic.h"
#include "runner/arithmetic/ast.h"
#include "runner/arithmetic/fast_path.h"

namespace runner::arithmetic {

// What the fast path refuses without a tree, in the same words.
inline constexpr std::string_view kTooDeepText = "expression nests deeper than 32 levels";
static_assert(kMaxDepth == 32);
inline constexpr std::string_view kDivisionText = "division by zero";
inline constexpr std::string_view kFloatDivisionText = "float division by zero";

// Fills `verdict` with the value or the refusal of `tree`, which parse() made from `text`.
void walk(std::string_view text, const Tree& tree, const Options& options, Verdict& verdict);

// What the fast path is sure of; not kValue or kUnknown.
void refuse_plain(PlainVerdict::Kind kind, Verdict& verdict);

// evaluate() by the full grammar alone: what the fast path must agree with.
Verdict evaluate_in_full(std::string_view text, const Options& options);

}  // namespace runner::arithmetic
