#include "jail/folders.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>

namespace jail {

int make_parents(int folder, const char* path, ReadOnly read_only) {
  std::array<char, PATH_MAX> part;
  for (std::size_t i = 0; path[i] != '\0' && i + 1 < part.size(); ++i) {
    part[i] = path[i];
    if (path[i] != '/') continue;
    part[i] = '\0';
    const int error = ::mkdirat(folder, part.data(), 0755) == 0 ? 0 : errno;
    const bool passes = error == EROFS && read_only == ReadOnly::kPasses;
    if (error != 0 && error != EEXIST && !passes) return error;
    part[i] = '/';
  }
  return 0;
}

}  // namespace jail
