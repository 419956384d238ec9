// The restricted mode over the API: {expression, sources?} in, a verdict out. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "runner/arithmetic/arithmetic.h"
#include "runner/service.h"

namespace runner::wire {

// The grammar that the server's restricted policy allows; adapters need not know its type.
using Grammar = arithmetic::Options;

// All there is to know of one request: to be counted, traced and replied.
Answer<Evaluation> evaluate(std::string_view body, const Grammar& grammar);

// The verdict as `sandglass eval --json` prints it; with "numbers" and "unsourced" where sources
// are given. A refused expression is an answer, not an error. kInvalid.
// The reply of evaluate() alone.
Answer<std::string> evaluate_json(std::string_view body, const Grammar& grammar);

}  // namespace runner::wire
