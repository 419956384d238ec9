// Many expressions: JSON strings from stdin, one a line, a verdict for each on stdout, in order.
// What was read is answered before more is waited for, so a caller may write one line and read one
// line in turns. Memory is bounded, however long a line is. Main thread.
#pragma once

#include "runner/arithmetic/arithmetic.h"

namespace runner::cli {

// Returns the exit code: 0 once stdin has ended and everything is written.
int evaluate_batch(const arithmetic::Options& options);

}  // namespace runner::cli
