#include "jail/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace jail {
namespace {

const char* search_path(char* const* env) {
  for (; *env != nullptr; ++env)
    if (std::strncmp(*env, "PATH=", 5) == 0) return *env + 5;
  return "/usr/local/bin:/usr/bin:/bin";
}

// 0, or why this file can't be run. faccessat(2) honours no file capability, and none counts here.
int runnable(const char* path) {
  struct stat st {};
  if (::stat(path, &st) != 0) return errno;
  if (S_ISDIR(st.st_mode)) return EACCES;
  return ::access(path, X_OK) == 0 ? 0 : errno;
}

}  // namespace

int find_program(const char* name, char* const* env, std::array<char, PATH_MAX>& found) {
  if (std::strchr(name, '/') != nullptr) {
    if (std::strlen(name) >= found.size()) return ENAMETOOLONG;
    std::strcpy(found.data(), name);
    return runnable(name);
  }
  int error = ENOENT;
  const char* p = search_path(env);
  while (*name != '\0') {
    const char* end = std::strchr(p, ':');
    const int length =
        end != nullptr ? static_cast<int>(end - p) : static_cast<int>(std::strlen(p));
    const int n = std::snprintf(found.data(), found.size(), "%.*s/%s", length, p, name);
    if (n > 0 && static_cast<std::size_t>(n) < found.size()) {
      const int e = runnable(found.data());
      if (e == 0) return 0;
      if (e == EACCES) error = EACCES;
    }
    if (end == nullptr) break;
    p = end + 1;
  }
  return error;
}

}  // namespace jail
