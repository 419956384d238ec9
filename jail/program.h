// Which file a command names. May be called after fork: no allocation.
#pragma once

#include <array>
#include <climits>

namespace jail {

// As execvp(3) searches in env's PATH, but without trying: under a filter that lets one execve
// through, there is one try. 0, or ENOENT / EACCES.
int find_program(const char* name, char* const* env, std::array<char, PATH_MAX>& found);

}  // namespace jail
