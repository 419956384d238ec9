#include "policies/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "jail/error.h"
#include "jail/fd.h"

namespace policies {
namespace {

constexpr std::size_t kMaxFile = std::size_t{1} << 20U;

tl::unexpected<Error> unreadable(const std::string& path, int error) {
  return fail(path + ": cannot be read: " + jail::errno_name(error));
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const jail::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return unreadable(path, errno);
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return unreadable(path, errno);
  if (!S_ISREG(st.st_mode)) return fail(path + ": is not a regular file");
  std::string text;
  text.resize(static_cast<std::size_t>(st.st_size) < kMaxFile
                  ? static_cast<std::size_t>(st.st_size) + 1
                  : kMaxFile + 1);
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = ::read(fd.get(), text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unreadable(path, errno);
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  if (have > kMaxFile) return fail(path + ":1:1: the file is larger than 1 MiB");
  text.resize(have);
  return text;
}

}  // namespace policies
