#include "runner/session/workdir.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <memory>
#include <string_view>

#include "runner/text.h"

namespace runner {
namespace {

constexpr std::size_t kBuffer = 64UL * 1024;

// openat2(2): never out of `folder`, through a link, or onto another mount.
jail::Fd open_beneath(const jail::Fd& folder, const std::string& name, int flags) {
  // openat2 refuses flags that mean nothing beside O_PATH.
  const unsigned quiet = (flags & O_PATH) != 0 ? 0U : unsigned{O_NONBLOCK | O_NOCTTY};
  open_how how{};
  how.flags = static_cast<unsigned>(flags) | O_CLOEXEC | O_NOFOLLOW | quiet;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  for (;;) {
    const long fd = ::syscall(SYS_openat2, folder.get(), name.c_str(), &how, sizeof how);
    // EAGAIN: a rename elsewhere on the host raced with RESOLVE_BENEATH.
    if (fd >= 0 || errno != EAGAIN) return jail::Fd(static_cast<int>(fd));
  }
}

// A folder by its place: the chain of names up to the workdir, whose own name is empty.
struct Folder {
  std::shared_ptr<const Folder> parent;
  std::string name;
  std::uint32_t depth = 0;

  [[nodiscard]] std::string path_of(std::string_view entry) const {
    std::string path(entry);
    for (const Folder* folder = this; folder->parent; folder = folder->parent.get()) {
      path.insert(0, folder->name + "/");
    }
    return path;
  }
};

// One step a name, since the whole path may be longer than PATH_MAX.
jail::Fd open_folder(const jail::Fd& workdir, const Folder& folder) {
  if (!folder.parent) return open_beneath(workdir, ".", O_PATH | O_DIRECTORY);
  const jail::Fd above = open_folder(workdir, *folder.parent);
  if (!above.valid()) return {};
  return open_beneath(above, folder.name, O_PATH | O_DIRECTORY);
}

bool same_content(const jail::Fd& a, const jail::Fd& b, std::uint64_t size) {
  std::vector<char> left(kBuffer);
  std::vector<char> right(kBuffer);
  for (std::uint64_t at = 0; at < size;) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kBuffer, size - at));
    const ssize_t got = ::pread(a.get(), left.data(), want, static_cast<off_t>(at));
    if (got <= 0) return false;
    const auto count = static_cast<std::size_t>(got);
    std::size_t have = 0;
    while (have < count) {
      const ssize_t more =
          ::pread(b.get(), right.data() + have, count - have, static_cast<off_t>(at + have));
      if (more <= 0) return false;
      have += static_cast<std::size_t>(more);
    }
    if (!std::equal(left.begin(), left.begin() + got, right.begin())) return false;
    at += count;
  }
  return true;
}

const char* kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "not a regular file";
}

struct DirCloser {
  void operator()(DIR* dir) const noexcept { ::closedir(dir); }
};

class Walk {
 public:
  Walk(const jail::Fd& workdir, const CollectLimits& limits, std::span<const KnownInput> inputs,
       const Deliver& deliver)
      : workdir_(workdir), limits_(limits), inputs_(inputs), deliver_(deliver) {}

  Collected run() {
    folders_.push_back(std::make_shared<const Folder>());
    while (!folders_.empty() && !collected_.error && !full_) {
      const std::shared_ptr<const Folder> folder = std::move(folders_.front());
      folders_.pop_front();
      visit(folder);
    }
    return std::move(collected_);
  }

 private:
  void skip(std::string path, std::string reason) {
    ++collected_.harvest.skipped_total;
    if (collected_.harvest.skipped.size() < kMaxSkipped) {
      collected_.harvest.skipped.push_back({std::move(path), std::move(reason)});
    }
  }

  // The names in a folder, in byte order, as many as may still be looked at.
  std::vector<std::string> list(const jail::Fd& at, const Folder& folder) {
    std::vector<std::string> names;
    jail::Fd readable = open_beneath(at, ".", O_RDONLY | O_DIRECTORY);
    std::unique_ptr<DIR, DirCloser> dir(readable.valid() ? ::fdopendir(readable.get()) : nullptr);
    if (!dir) {
      skip(folder.path_of(""), "a folder that cannot be read");
      return names;
    }
    (void)readable.release();  // closedir closes it
    while (const dirent* entry = ::readdir(dir.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (visited_ == limits_.entries) {
        full_ = true;
        skip(folder.path_of(""), "more than " + std::to_string(limits_.entries) +
                                     " entries: the rest was not looked at");
        break;
      }
      ++visited_;
      names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  void visit(const std::shared_ptr<const Folder>& folder) {
    const jail::Fd at = open_folder(workdir_, *folder);
    if (!at.valid()) return skip(folder->path_of(""), "a folder that cannot be entered");
    for (const std::string& name : list(at, *folder)) {
      if (collected_.error) return;
      look_at(at, folder, name);
    }
  }

  void look_at(const jail::Fd& at, const std::shared_ptr<const Folder>& folder,
               const std::string& name) {
    struct stat info {};
    if (::fstatat(at.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return skip(folder->path_of(name), jail::errno_name(errno));
    }
    if (S_ISREG(info.st_mode)) return take(at, folder->path_of(name), name);
    if (!S_ISDIR(info.st_mode)) return skip(folder->path_of(name), kind_of(info.st_mode));
    if (folder->depth >= limits_.depth) {
      return skip(folder->path_of(name) + "/",
                  "nested deeper than " + std::to_string(limits_.depth) + " folders");
    }
    folders_.push_back(std::make_shared<const Folder>(Folder{folder, name, folder->depth + 1}));
  }

  void take(const jail::Fd& at, const std::string& path, const std::string& name) {
    const jail::Fd file = open_beneath(at, name, O_RDONLY);
    struct stat info {};
    if (!file.valid() || ::fstat(file.get(), &info) != 0) {
      return skip(path, "it cannot be opened: " + jail::errno_name(errno));
    }
    if (!S_ISREG(info.st_mode)) return skip(path, kind_of(info.st_mode));
    const jail::Bytes size{static_cast<std::uint64_t>(info.st_size)};
    if (unchanged(path, file, size)) {
      ++collected_.harvest.unchanged;
      return;
    }
    if (size > limits_.max_file) {
      std::string shown = size_text(size);
      if (shown == size_text(limits_.max_file)) shown = std::to_string(size.value) + "B";
      return skip(path, shown + " is over the limit of " + size_text(limits_.max_file) +
                            " a file (files.max_file)");
    }
    if (collected_.harvest.written.size() >= limits_.files) {
      return skip(path,
                  "over the limit of " + std::to_string(limits_.files) + " files (files.outputs)");
    }
    hand_over(path, file, size);
  }

  bool unchanged(const std::string& path, const jail::Fd& file, jail::Bytes size) {
    const auto known = std::find_if(inputs_.begin(), inputs_.end(),
                                    [&](const KnownInput& input) { return input.path == path; });
    if (known == inputs_.end() || known->content == nullptr) return false;
    struct stat info {};
    if (::fstat(known->content->get(), &info) != 0) return false;
    if (static_cast<std::uint64_t>(info.st_size) != size.value) return false;
    return same_content(file, *known->content, size.value);
  }

  void hand_over(const std::string& path, const jail::Fd& file, jail::Bytes size) {
    const auto delivered = deliver_(path, file, size);
    if (delivered) {
      collected_.harvest.written.push_back({path, size});
    } else if (delivered.error().then == Undelivered::Then::kSkip) {
      skip(path, delivered.error().reason);
    } else {
      collected_.error = Error{ErrorKind::kFiles, delivered.error().reason};
    }
  }

  const jail::Fd& workdir_;
  const CollectLimits& limits_;
  std::span<const KnownInput> inputs_;
  const Deliver& deliver_;
  std::deque<std::shared_ptr<const Folder>> folders_;
  std::uint64_t visited_ = 0;
  bool full_ = false;
  Collected collected_;
};

}  // namespace

DiskState disk_state(const jail::Fd& workdir) {
  struct statvfs info {};
  if (!workdir.valid() || ::fstatvfs(workdir.get(), &info) != 0) return DiskState::kUnknown;
  if (info.f_blocks > 0 && info.f_bfree == 0) return DiskState::kNoBlocks;
  if (info.f_files > 0 && info.f_ffree == 0) return DiskState::kNoInodes;
  return DiskState::kRoom;
}

// tmpfs counts inodes: the root alone takes one. Where it is not asked to count, f_files is 0.
bool holds_nothing(const jail::Fd& workdir) {
  struct statfs info {};
  return ::fstatfs(workdir.get(), &info) == 0 && info.f_type == TMPFS_MAGIC && info.f_files > 0 &&
         info.f_files - info.f_ffree == 1;
}

Collected collect(const jail::Fd& workdir, const CollectLimits& limits,
                  std::span<const KnownInput> inputs, const Deliver& deliver) {
  return Walk(workdir, limits, inputs, deliver).run();
}

}  // namespace runner
