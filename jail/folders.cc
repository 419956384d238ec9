#include "jail/folders.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <utility>

namespace jail {
namespace {

Folder open_in(int root, const char* path, Links links) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = links == Links::kInRoot ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS
                                        : RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  if (*path == '\0') path = ".";
  // EAGAIN: something was renamed or mounted anywhere on the host meanwhile, and ".." is not sure.
  for (int tries = 0;; ++tries) {
    Fd fd(static_cast<int>(::syscall(SYS_openat2, root, path, &how, sizeof(how))));
    if (fd.valid()) return {std::move(fd), 0};
    if (errno != EAGAIN || tries == 100) return {Fd(), errno};
  }
}

}  // namespace

Folder open_folder(int root, const char* path, Links links) {
  Folder whole = open_in(root, path, links);
  if (whole.error != ENOENT) return whole;
  std::array<char, PATH_MAX> part;
  if (std::strlen(path) >= part.size()) return {Fd(), ENAMETOOLONG};
  std::strcpy(part.data(), path);
  Folder at = open_in(root, "", links);
  for (char* name = part.data(); at.fd.valid() && name != nullptr;) {
    char* slash = std::strchr(name, '/');
    if (slash != nullptr) *slash = '\0';
    Folder next = open_in(root, part.data(), links);
    if (next.error == ENOENT) {
      if (::mkdirat(at.fd.get(), name, 0755) != 0) return {Fd(), errno == EEXIST ? ENOENT : errno};
      next = open_in(root, part.data(), links);
    }
    at = std::move(next);
    if (slash != nullptr) *slash = '/';
    name = slash == nullptr ? nullptr : slash + 1;
  }
  return at;
}

Folder open_parent(int root, const char* path, Links links, const char*& name) {
  std::array<char, PATH_MAX> parent;
  const char* slash = std::strrchr(path, '/');
  name = slash == nullptr ? path : slash + 1;
  const std::size_t length = slash == nullptr ? 0 : static_cast<std::size_t>(slash - path);
  if (length >= parent.size()) return {Fd(), ENAMETOOLONG};
  std::memcpy(parent.data(), path, length);
  parent[length] = '\0';
  return open_folder(root, parent.data(), links);
}

}  // namespace jail
