// The notation of argument tests in syscalls.toml:
//   line  := test { "and" test }
//   test  := NAME [ "&" value ] ( "==" | "<" | "<=" ) value
//   value := [ "~" ] term  |  "(" term { "|" term } ")"  |  term { "|" term }
//   term  := constant | number (decimal or 0x...)
// One test an argument in a line, as libseccomp wants it. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jail/spec.h"
#include "policies/error.h"

namespace policies {

// `names` are the arguments' names in order, at most six. The error has no place in it.
Result<std::vector<jail::ArgTest>> parse_tests(std::string_view line,
                                               std::span<const std::string> names);

}  // namespace policies
