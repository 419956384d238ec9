#include "runner/service/file_table.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "runner/session/content.h"
#include "runner/text.h"
#include "runner/trace/digest.h"

namespace runner {
namespace {

using Kind = Refusal::Kind;

// What is read on the loop that serves everybody: under a millisecond. The rest is for a Hasher.
constexpr std::uint64_t kMostAtOnce = std::uint64_t{256} << 10U;

// openat2(2): beneath the workdir, through no link, and without waiting for a FIFO's other end.
jail::Fd open_beneath(const jail::Fd& workdir, const std::string& path, std::uint64_t flags,
                      std::uint64_t mode = 0) {
  open_how how{};
  // openat2(2): O_PATH allows few others, and needs no O_NONBLOCK.
  const std::uint64_t wait = (flags & O_PATH) != 0 ? 0 : O_NONBLOCK;
  how.flags = flags | O_NOFOLLOW | O_CLOEXEC | wait;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return jail::Fd(
      static_cast<int>(::syscall(SYS_openat2, workdir.get(), path.c_str(), &how, sizeof(how))));
}

// While it lives, this thread makes files as the workdir's owner. user_namespaces(7): on a file
// system of a jail's, ids that the jail does not map can make none (EOVERFLOW), root's included. A
// caller without privileges stays who it is: then the jail maps its ids.
class AsOwner {
 public:
  explicit AsOwner(const jail::Fd& workdir) {
    struct stat st {};
    if (::fstat(workdir.get(), &st) != 0) return;
    gid_ = static_cast<gid_t>(::setfsgid(st.st_gid));
    uid_ = static_cast<uid_t>(::setfsuid(st.st_uid));
    changed_ = true;
  }
  ~AsOwner() {
    if (!changed_) return;
    ::setfsuid(uid_);
    ::setfsgid(gid_);
  }
  AsOwner(const AsOwner&) = delete;
  AsOwner& operator=(const AsOwner&) = delete;
  AsOwner(AsOwner&&) = delete;
  AsOwner& operator=(AsOwner&&) = delete;

 private:
  bool changed_ = false;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
};

// Empty, or what is wrong with it.
std::string wrong_name(const std::string& name) {
  if (name.empty() || name == "." || name == "..") return "a file needs a name";
  if (name.size() > NAME_MAX) return "the name is longer than 255 bytes";
  if (name.find('/') != std::string::npos) return "the name has a \"/\": it must not be a path";
  if (name.find('\0') != std::string::npos) return "the name has a zero byte";
  return "";
}

}  // namespace

std::string new_id(std::string_view prefix) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t n = ::getrandom(bytes.data() + got, bytes.size() - got, 0);
    if (n > 0) got += static_cast<std::size_t>(n);
  }
  return std::string(prefix) + hex_text(bytes);
}

FileTable::Changes FileTable::look(const jail::Fd& workdir, std::int64_t now) {
  Changes changes;
  if (known_.empty() && holds_nothing(workdir)) return changes;
  for (auto& [path, known] : known_) known.seen = false;
  std::uint64_t budget = kMostAtOnce;
  CollectLimits limits = limits_;
  limits.files = limits_.entries;  // all are looked at; what is new is counted here
  const auto deliver = [&](const std::string& path, const jail::Fd& file,
                           jail::Bytes size) -> tl::expected<void, Undelivered> {
    struct stat st {};
    if (::fstat(file.get(), &st) != 0)
      return tl::unexpected(Undelivered{Undelivered::Then::kSkip, jail::errno_name(errno)});
    auto [it, is_new] = known_.try_emplace(path);
    Known& known = it->second;
    known.seen = true;
    if (!is_new && known.version == Version(st) && known.file.bytes == size.value) return {};
    if (changes.files.size() >= limits_.files) {
      if (is_new) known_.erase(it);
      return tl::unexpected(
          Undelivered{Undelivered::Then::kSkip, "more than " + std::to_string(limits_.files) +
                                                    " files of one execution (files.outputs)"});
    }
    if (is_new) {
      known.file.id = new_id("cfile_");
      known.file.container_id = container_id_;
      known.file.path = workdir_ + "/" + path;
      known.order = ++last_order_;
    }
    known.file.created_at = now;
    known.file.source = File::Source::kAssistant;
    known.file.bytes = size.value;
    known.version = Version(st);
    digest(known, file, budget);
    changes.files.push_back(known.file);
    return {};
  };
  Collected collected = collect(workdir, limits, {}, deliver);
  changes.skipped = std::move(collected.harvest.skipped);
  std::erase_if(known_, [](const auto& entry) { return !entry.second.seen; });
  return changes;
}

std::optional<Refusal> FileTable::wrong(const std::string& name, std::uint64_t bytes) const {
  if (std::string wrong = wrong_name(name); !wrong.empty())
    return Refusal{Kind::kInvalid, std::move(wrong), "file"};
  if (bytes > limits_.max_file.value)
    return Refusal{Kind::kTooLarge,
                   "the file is over the limit of " + size_text(limits_.max_file) + " a file",
                   "file"};
  return std::nullopt;
}

StagedFile stage(const jail::Fd& workdir, const std::string& name, std::string_view content) {
  StagedFile staged;
  const AsOwner owner(workdir);
  staged.file = open_beneath(workdir, ".", O_TMPFILE | O_RDWR, 0666);
  staged.error = staged.file.valid() ? write_all(staged.file, content) : errno;
  if (staged.error == ENOSPC && ::unlinkat(workdir.get(), name.c_str(), 0) == 0) {
    const int file = staged.file.get();
    const bool again = ::ftruncate(file, 0) == 0 && ::lseek(file, 0, SEEK_SET) == 0;
    staged.error = again ? write_all(staged.file, content) : errno;
  }
  if (staged.error != 0) return staged;
  (void)::fchmod(staged.file.get(), 0666);  // whoever the payload is, it may change it
  staged.bytes = content.size();
  staged.sha256 = trace::sha256(content);
  return staged;
}

Answer<File> FileTable::put(const jail::Fd& workdir, const std::string& name, StagedFile staged,
                            std::int64_t now) {
  int error = staged.error;
  if (error == 0) {
    const AsOwner owner(workdir);
    // unlink first: what lies there may be a link, or open in the payload.
    (void)::unlinkat(workdir.get(), name.c_str(), 0);
    const std::string unnamed = "/proc/self/fd/" + std::to_string(staged.file.get());
    if (::linkat(AT_FDCWD, unnamed.c_str(), workdir.get(), name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      error = errno;
  }
  if (error == EEXIST)
    return refuse(Kind::kInvalid, "a folder of that name is there already; choose another name",
                  "file");
  if (error == ENOSPC) return refuse(Kind::kTooLarge, "the container's workdir is full", "file");
  if (error != 0)
    return refuse(Kind::kUnavailable, "the file cannot be written: " + jail::errno_name(error),
                  "file");
  struct stat st {};
  (void)::fstat(staged.file.get(), &st);
  Known known;
  known.file = File{new_id("cfile_"),
                    container_id_,
                    workdir_ + "/" + name,
                    staged.bytes,
                    now,
                    File::Source::kUser,
                    std::move(staged.sha256),
                    ""};
  known.version = Version(st);
  known.order = ++last_order_;
  known_[name] = known;
  return known.file;
}

void FileTable::digest(Known& known, const jail::Fd& file, std::uint64_t& budget) {
  const std::uint64_t size = known.file.bytes;
  if (size <= budget) {
    budget -= size;
    return take(known.file, sha256_of(file, size));
  }
  jail::Fd copy(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
  if (!copy.valid()) return take(known.file, {"", "no descriptor was free to read it by"});
  take(known.file, {"", "it is being computed"});
  unhashed_.push_back({known.file.id, known.version, size, std::move(copy)});
}

void FileTable::take(File& file, Digest digest) {
  file.sha256 = std::move(digest.sha256);
  file.sha256_note = std::move(digest.why);
}

bool FileTable::hashed(const std::string& id, const Version& version, Digest digest) {
  const auto it = std::find_if(known_.begin(), known_.end(),
                               [&](const auto& entry) { return entry.second.file.id == id; });
  if (it == known_.end() || !(it->second.version == version)) return false;
  take(it->second.file, std::move(digest));
  return true;
}

void FileTable::give_up(const std::string& id, const std::string& why) {
  for (auto& [path, known] : known_)
    if (known.file.id == id) take(known.file, {"", why});
}

FileTable::Entries::const_iterator FileTable::entry_of(std::string_view id) const {
  return std::find_if(known_.begin(), known_.end(),
                      [&](const auto& entry) { return entry.second.file.id == id; });
}

const File* FileTable::find(std::string_view id) const {
  const auto it = entry_of(id);
  return it == known_.end() ? nullptr : &it->second.file;
}

const File* FileTable::find_path(std::string_view path) const {
  if (!path.starts_with(workdir_ + "/")) return nullptr;
  const auto it = known_.find(std::string(path.substr(workdir_.size() + 1)));
  return it == known_.end() ? nullptr : &it->second.file;
}

Answer<std::string> FileTable::content(const jail::Fd& workdir, std::string_view id) const {
  const File* file = find(id);
  if (file == nullptr) return refuse(Kind::kNotFound, "no such file in this container", "file_id");
  const jail::Fd open = open_beneath(workdir, file->path.substr(workdir_.size() + 1), O_RDONLY);
  struct stat st {};
  if (!open.valid() || ::fstat(open.get(), &st) != 0 || !S_ISREG(st.st_mode))
    return refuse(Kind::kNotFound, "the file is not there any more", "file_id");
  if (static_cast<std::uint64_t>(st.st_size) > limits_.max_file.value)
    return refuse(Kind::kTooLarge, "the file has grown over the limit of " +
                                       size_text(limits_.max_file) + " a file");
  std::string bytes(static_cast<std::size_t>(st.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        ::pread(open.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

Answer<void> FileTable::remove(const jail::Fd& workdir, std::string_view id) {
  const auto it = entry_of(id);
  if (it == known_.end())
    return refuse(Kind::kNotFound, "no such file in this container", "file_id");
  const std::string& path = it->first;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  const jail::Fd parent = open_beneath(workdir, folder, O_PATH | O_DIRECTORY);
  if (parent.valid())
    (void)::unlinkat(parent.get(), path.substr(slash == std::string::npos ? 0 : slash + 1).c_str(),
                     0);
  known_.erase(it);
  return {};
}

std::vector<File> FileTable::all() const {
  std::vector<const Known*> sorted;
  sorted.reserve(known_.size());
  for (const auto& [path, known] : known_) sorted.push_back(&known);
  std::sort(sorted.begin(), sorted.end(),
            [](const Known* a, const Known* b) { return a->order < b->order; });
  std::vector<File> files;
  files.reserve(sorted.size());
  for (const Known* known : sorted) files.push_back(known->file);
  return files;
}

}  // namespace runner
