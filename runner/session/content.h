// Bytes that go into a jail, as descriptors the spawner can copy from: the host's regular file
// itself, else an unnamed file in memory. Blocking; any thread.
#pragma once

#include <string>
#include <string_view>

#include "jail/fd.h"
#include "jail/units.h"
#include "runner/error.h"

namespace runner {

// `bytes` (any, NUL included) in a memfd, at offset 0.
Result<jail::Fd> content_of(std::string_view bytes);

// Opens `path` for reading. What is not a regular file but can be read (a pipe, /dev/stdin) is
// read to its end, at most `most` bytes. kFiles: missing, unreadable, a directory, too large.
Result<jail::Fd> content_of_file(const std::string& path, jail::Bytes most);

// Reads all of `fd` into a memfd; `name` is for messages.
Result<jail::Fd> content_of_stream(int fd, const std::string& name, jail::Bytes most);

// All bytes of a descriptor from here; its offset stays. kFiles: it cannot be read.
Result<std::string> text_of(const jail::Fd& content);

// All of `bytes` to a descriptor that blocks. 0 or an errno; EIO where nothing more is taken.
int write_all(const jail::Fd& to, std::string_view bytes);

// Size of a descriptor from here.
jail::Bytes size_of(const jail::Fd& content);

}  // namespace runner
