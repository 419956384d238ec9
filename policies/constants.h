// The kernel's names for values in argument tests: CLONE_THREAD, PROT_EXEC, TIOCGWINSZ, ...
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace policies {

std::optional<std::uint64_t> constant(std::string_view name);

}  // namespace policies
