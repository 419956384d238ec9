// A folder on the host that takes files out of a jail. Names are the payload's choice, so nothing
// here follows a link that lies in the folder: sub-folders are opened beneath its fd, files are
// written under a fresh temporary name (O_EXCL) and renamed over the old one.
// Blocking file I/O; one thread.
#pragma once

#include <string>

#include "jail/fd.h"
#include "runner/error.h"
#include "runner/session/workdir.h"

namespace runner {

class OutDir {
 public:
  // Makes the folder if it is missing (not its parents). kFiles if it cannot be made or opened.
  static Result<OutDir> open(const std::string& path);

  // Copies `file` from offset 0 to `path` below the folder. Mode 0666 less the umask: a file from
  // a jail is never executable. kStop when the host has no room; nothing half-written stays.
  tl::expected<void, Undelivered> put(const std::string& path, const jail::Fd& file,
                                      jail::Bytes size) const;

 private:
  OutDir(jail::Fd folder, std::string name) : folder_(std::move(folder)), name_(std::move(name)) {}
  jail::Fd folder_;
  std::string name_;
};

}  // namespace runner
