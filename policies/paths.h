// Lexical path questions. Paths are absolute and clean (validate.h: refuse_path). Any thread.
#pragma once

#include <string_view>

namespace policies {

// "/usr/lib" is below "/usr" and below itself; "/usr2" is not below "/usr".
constexpr bool is_below(std::string_view path, std::string_view folder) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace policies
