// A close-on-exec pipe. May be called after fork.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "jail/fd.h"

namespace jail {

struct Pipe {
  Fd read;
  Fd write;
};

// False, with errno, when there are no descriptors left.
inline bool make_pipe(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.read.reset(ends[0]);
  pipe.write.reset(ends[1]);
  return true;
}

}  // namespace jail
