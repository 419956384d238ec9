// sqrt round abs min max sum, as Python's, with Python's error texts. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "runner/arithmetic/arithmetic.h"
#include "runner/arithmetic/number.h"

namespace runner::arithmetic {

std::optional<Function> function_named(std::string_view name);
std::string_view name_of(Function function);

// min, max and sum also take one list or tuple.
constexpr bool takes_sequence(Function function) {
  return function == Function::kMin || function == Function::kMax || function == Function::kSum;
}

// function(arguments...)
Outcome<Number> call(Function function, const std::vector<Number>& arguments);

// function([elements...]); one that takes_sequence().
Outcome<Number> call_on_sequence(Function function, const std::vector<Number>& elements);

}  // namespace runner::arithmetic
