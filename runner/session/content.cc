#include "runner/session/content.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "runner/text.h"

namespace runner {
namespace {

constexpr std::size_t kBuffer = 128UL * 1024;
constexpr jail::Bytes kMaxStream = jail::mib(256);  // kept in memory, and may never end

Error cannot(const std::string& what, const std::string& name, int error, const char* mend) {
  return Error{ErrorKind::kFiles,
               "cannot " + what + " " + printable(name) + ": " + jail::errno_name(error) + mend};
}

Result<jail::Fd> rewound(jail::Fd memory) {
  ::lseek(memory.get(), 0, SEEK_SET);
  return memory;
}

Error too_large(const std::string& name, jail::Bytes most) {
  return Error{ErrorKind::kFiles, printable(name) + " is larger than the " + size_text(most) +
                                      " that fit; give a smaller file"};
}

const char* mend_for(int error) {
  switch (error) {
    case ENOENT:
      return "; see whether the path is right";
    case EACCES:
      return "; give yourself the right to read it";
    case EMFILE:
    case ENFILE:
      return "; raise ulimit -n";
    default:
      return "";
  }
}

const char* keep_advice(int error) {
  return error == EMFILE || error == ENFILE ? mend_for(error) : "; free some memory";
}

}  // namespace

int write_all(const jail::Fd& to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(to.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return 0;
}

Result<jail::Fd> content_of(std::string_view bytes) {
  jail::Fd memory(::memfd_create("sandglass", MFD_CLOEXEC));
  const int error = memory.valid() ? write_all(memory, bytes) : errno;
  if (error != 0) return tl::unexpected(cannot("keep", "the code", error, keep_advice(error)));
  return rewound(std::move(memory));
}

Result<jail::Fd> content_of_stream(int fd, const std::string& name, jail::Bytes most) {
  jail::Fd memory(::memfd_create("sandglass", MFD_CLOEXEC));
  if (!memory.valid()) return tl::unexpected(cannot("keep", name, errno, keep_advice(errno)));
  std::vector<char> buffer(kBuffer);
  std::uint64_t total = 0;
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(cannot("read", name, errno, ""));
    if (got == 0) return rewound(std::move(memory));
    total += static_cast<std::uint64_t>(got);
    if (total > most.value) return tl::unexpected(too_large(name, most));
    const int error = write_all(memory, {buffer.data(), static_cast<std::size_t>(got)});
    if (error != 0) return tl::unexpected(cannot("keep", name, error, keep_advice(error)));
  }
}

Result<jail::Fd> content_of_file(const std::string& path, jail::Bytes most) {
  jail::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0) {
    const int error = errno;
    return tl::unexpected(cannot("open", path, error, mend_for(error)));
  }
  if (S_ISDIR(info.st_mode)) {
    return fail(ErrorKind::kFiles, printable(path) + " is a directory; give a file");
  }
  if (!S_ISREG(info.st_mode)) {
    return content_of_stream(file.get(), path, std::min(most, kMaxStream));
  }
  if (static_cast<std::uint64_t>(info.st_size) > most.value) {
    return tl::unexpected(too_large(path, most));
  }
  return file;
}

Result<std::string> text_of(const jail::Fd& content) {
  std::string text(size_of(content).value, '\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t got =
        ::pread(content.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(cannot("read", "the code", errno, ""));
    if (got == 0) text.resize(done);  // a file that has shrunk meanwhile
    done += static_cast<std::size_t>(got);
  }
  return text;
}

jail::Bytes size_of(const jail::Fd& content) {
  struct stat info {};
  if (::fstat(content.get(), &info) != 0) return {};
  return {static_cast<std::uint64_t>(info.st_size)};
}

}  // namespace runner
