#include "runner/session/out_dir.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "runner/text.h"

namespace runner {
namespace {

using Then = Undelivered::Then;

tl::unexpected<Undelivered> undelivered(Then then, std::string reason) {
  return tl::unexpected<Undelivered>(Undelivered{then, std::move(reason)});
}

bool disk_is_full(int error) { return error == ENOSPC || error == EDQUOT; }

// A sub-folder, made if missing; invalid (errno set) when something else is there, or a link.
jail::Fd enter(const jail::Fd& folder, const std::string& name) {
  if (::mkdirat(folder.get(), name.c_str(), 0777) != 0 && errno != EEXIST) return {};
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return jail::Fd(
      static_cast<int>(::syscall(SYS_openat2, folder.get(), name.c_str(), &how, sizeof how)));
}

std::string temporary_name() {
  std::uint64_t random = 0;
  // Only a name: O_EXCL makes it sure.
  if (::getrandom(&random, sizeof random, 0) != sizeof random) random = 0;
  std::array<char, 48> name{};
  std::snprintf(name.data(), name.size(), ".sandglass-%016llx",
                static_cast<unsigned long long>(random));
  return name.data();
}

// 0 or an errno. Never copies more than `size`.
int copy(const jail::Fd& from, const jail::Fd& to, std::uint64_t size) {
  std::vector<char> buffer(128UL * 1024);
  std::uint64_t at = 0;
  while (at < size) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), size - at));
    const ssize_t got = ::pread(from.get(), buffer.data(), want, static_cast<off_t>(at));
    if (got < 0) return errno;
    if (got == 0) break;
    for (ssize_t done = 0; done < got;) {
      const ssize_t wrote =
          ::write(to.get(), buffer.data() + done, static_cast<std::size_t>(got - done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return errno;
      done += wrote;
    }
    at += static_cast<std::uint64_t>(got);
  }
  return 0;
}

// Writes under a temporary name in `folder` and renames; removes what it wrote on failure.
int write_and_rename(const jail::Fd& folder, const std::string& name, const jail::Fd& file,
                     std::uint64_t size) {
  const std::string temporary = temporary_name();
  const jail::Fd to(::openat(folder.get(), temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!to.valid()) return errno;
  int error = copy(file, to, size);
  // rename(2) replaces a link itself, never what it points to.
  if (error == 0 && ::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) ::unlinkat(folder.get(), temporary.c_str(), 0);
  return error;
}

}  // namespace

Result<OutDir> OutDir::open(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    return fail(ErrorKind::kFiles, "--out " + printable(path) +
                                       ": cannot make the folder: " + jail::errno_name(errno) +
                                       "; its parent must exist and be "
                                       "writable");
  }
  jail::Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) {
    return fail(ErrorKind::kFiles, "--out " + printable(path) +
                                       ": cannot open the folder: " + jail::errno_name(errno) +
                                       "; give a folder you may write to");
  }
  if (::faccessat(folder.get(), ".", W_OK | X_OK, 0) != 0) {
    return fail(ErrorKind::kFiles, "--out " + printable(path) +
                                       ": cannot write there: " + jail::errno_name(errno) +
                                       "; give a folder you may write to");
  }
  return OutDir(std::move(folder), path);
}

tl::expected<void, Undelivered> OutDir::put(const std::string& path, const jail::Fd& file,
                                            jail::Bytes size) const {
  jail::Fd at(::fcntl(folder_.get(), F_DUPFD_CLOEXEC, 0));
  std::size_t begin = 0;
  int error = at.valid() ? 0 : errno;
  for (std::size_t slash = path.find('/'); error == 0 && slash != std::string::npos;
       slash = path.find('/', begin)) {
    at = enter(at, path.substr(begin, slash - begin));
    if (!at.valid()) error = errno;
    begin = slash + 1;
  }
  if (error == 0) error = write_and_rename(at, path.substr(begin), file, size.value);
  if (error == 0) return {};
  const std::string why = jail::errno_name(error);
  if (disk_is_full(error)) {
    return undelivered(Then::kStop, "no room in " + printable(name_) + " for " + printable(path) +
                                        " (" + size_text(size) + "): " + why +
                                        "; free some and run again");
  }
  return undelivered(Then::kSkip, "it cannot be written to " + printable(name_) + ": " + why);
}

}  // namespace runner
