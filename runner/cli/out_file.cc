#include "runner/cli/out_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "jail/error.h"
#include "runner/text.h"

namespace runner::cli {

tl::unexpected<Error> OutFile::cannot(int error) const {
  return fail(ErrorKind::kFiles, option_ + ": cannot write " + printable(path_) + ": " +
                                     jail::errno_name(error) +
                                     "; give a file in a folder that is there, with room");
}

Result<OutFile> OutFile::open(const std::string& option, const std::string& path) {
  constexpr mode_t kMode = 0666;  // what umask(2) leaves of it
  OutFile out(option, path);
  out.file_ = jail::Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  out.made_ = out.file_.valid();
  if (!out.made_ && errno == EEXIST)
    out.file_ = jail::Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kMode));
  if (!out.file_.valid()) return out.cannot(errno);
  return out;
}

OutFile::~OutFile() {
  if (made_ && file_.valid()) (void)::unlink(path_.c_str());
}

Result<void> OutFile::write(std::string_view text) {
  // What is no regular file has no length to be cut: a terminal, a pipe.
  if (::ftruncate(file_.get(), 0) != 0 && errno != EINVAL) return cannot(errno);
  while (!text.empty()) {
    const ssize_t wrote = ::write(file_.get(), text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return cannot(errno);
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  made_ = false;
  return {};
}

}  // namespace runner::cli
