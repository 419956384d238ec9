#include "runner/trace/folder.h"

#include <dirent.h>
#include <fcntl.h>

#include <memory>

namespace runner::trace {

std::vector<std::string> names_in(const jail::Fd& folder) {
  std::vector<std::string> names;
  // fdopendir(3) owns what it is given, and moves its offset: a descriptor of its own.
  jail::Fd own(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return names;
  const auto end = [](DIR* dir) { (void)::closedir(dir); };
  const std::unique_ptr<DIR, decltype(end)> dir(::fdopendir(own.get()), end);
  if (!dir) return names;
  (void)own.release();
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = static_cast<const char*>(entry->d_name);
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

}  // namespace runner::trace
