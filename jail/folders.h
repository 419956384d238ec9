// Folders made on the way to a path. May be called after fork: no allocation.
#pragma once

namespace jail {

// What a folder that can't be made means when the file system it would lie on is read-only: an
// error, or that what comes next will find it or fail by itself (a bind's own content).
enum class ReadOnly { kFails, kPasses };

// mkdir -p (0755) of everything before the last slash of `path`, which is relative to `folder`.
// 0 or an errno.
int make_parents(int folder, const char* path, ReadOnly read_only);

}  // namespace jail
