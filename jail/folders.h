// Folders below a root that is not "/" yet. May be called after fork: no allocation.
#pragma once

#include "jail/fd.h"

namespace jail {

struct Folder {
  Fd fd;          // O_PATH; invalid on error
  int error = 0;  // errno
};

// Symbolic links on the way: followed as if the root were "/", so that none leads out of it
// (openat2(2), RESOLVE_IN_ROOT), or ELOOP.
enum class Links { kInRoot, kRefused };

// Opens the folder `path`, relative to `root`. What is missing on the way is made, with mode 0755.
// "" is the root itself.
Folder open_folder(int root, const char* path, Links links);

// The same for what stands before the last slash of `path`; `name` is what stands after it.
Folder open_parent(int root, const char* path, Links links, const char*& name);

}  // namespace jail
