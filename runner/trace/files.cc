#include "runner/trace/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "runner/session/content.h"
#include "runner/text.h"
#include "runner/trace/folder.h"

namespace runner::trace {
namespace {

constexpr std::size_t kBuffer = std::size_t{128} << 10U;

std::uint64_t lines_in(const jail::Fd& file) {
  std::vector<char> buffer(kBuffer);
  std::uint64_t lines = 0;
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file.get(), buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return lines;
    lines += static_cast<std::uint64_t>(std::count(buffer.begin(), buffer.begin() + got, '\n'));
    at += got;
  }
}

}  // namespace

std::string Files::name(std::uint64_t number) const {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "trace-%06llu.jsonl",
                static_cast<unsigned long long>(number));
  return text.data();
}

std::string Files::current_path() const {
  return folder_ ? options_.folder + "/" + name(open_.rbegin()->first) : "the trace in memory";
}

Result<std::unique_ptr<Files>> Files::open(FilesOptions options, const OnLine& on_line) {
  auto files = std::make_unique<Files>(Key{}, std::move(options));
  if (!files->options_.folder.empty()) {
    if (auto taken = files->take_folder(); !taken) return tl::unexpected(taken.error());
    if (auto scanned = files->scan(on_line); !scanned) return tl::unexpected(scanned.error());
  }
  if (files->open_.empty()) {
    if (const int error = files->start_file(); error != 0)
      return fail(ErrorKind::kFiles, "cannot write a trace into " +
                                         printable(files->options_.folder) + ": " +
                                         jail::errno_name(error));
  }
  return files;
}

Result<void> Files::take_folder() {
  const std::string shown = printable(options_.folder);
  if (::mkdir(options_.folder.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(ErrorKind::kFiles, "cannot make the folder " + shown + ": " +
                                       jail::errno_name(errno) + "; make the one above it first");
  jail::Fd folder(::open(options_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!folder.valid() || ::fstat(folder.get(), &info) != 0)
    return fail(ErrorKind::kFiles,
                "cannot open the folder " + shown + ": " + jail::errno_name(errno));
  if (info.st_uid != ::geteuid() || (info.st_mode & 077U) != 0)
    return fail(ErrorKind::kFiles, "the folder " + shown +
                                       " can be read by others than its server, and a trace holds "
                                       "code and data: chmod 700 it, owned by who serves");
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorKind::kFiles,
                errno == EWOULDBLOCK
                    ? "another server writes its trace into " + shown + ": give each its own"
                    : "cannot lock the folder " + shown + ": " + jail::errno_name(errno));
  folder_ = std::make_shared<const jail::Fd>(std::move(folder));
  return {};
}

Result<void> Files::scan(const OnLine& on_line) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& found : names_in(*folder_)) {
    unsigned long long number = 0;
    if (std::sscanf(found.c_str(), "trace-%llu.jsonl", &number) == 1 && found == name(number))
      numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  for (const std::uint64_t number : numbers) {
    auto one = scan_one(number, on_line);
    if (!one) return tl::unexpected(one.error());
    open_[number] = std::move(*one);
  }
  while (open_.size() > options_.files) drop_oldest();
  return {};
}

// What stands behind the last newline was being written when the server or the machine died.
Result<Files::One> Files::scan_one(std::uint64_t number, const OnLine& on_line) {
  jail::Fd fd(
      ::openat(folder_->get(), name(number).c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  const auto cannot = [&](const char* what) {
    return fail(ErrorKind::kFiles, "cannot " + std::string(what) + " " +
                                       printable(options_.folder + "/" + name(number)) + ": " +
                                       jail::errno_name(errno));
  };
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return cannot("open");
  if (!S_ISREG(info.st_mode))
    return fail(ErrorKind::kFiles, printable(options_.folder + "/" + name(number)) +
                                       " is no file of a trace: remove it");
  One one;
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > 0) {
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED) return cannot("read");
    const std::string_view all(static_cast<const char*>(at), size);
    for (std::size_t end = all.find('\n'); end != std::string_view::npos;
         end = all.find('\n', one.size)) {
      const std::string_view line = all.substr(one.size, end - one.size);
      on_line({number, one.size, static_cast<std::uint32_t>(line.size())}, line);
      one.size = end + 1;
      ++one.lines;
    }
    (void)::munmap(at, size);
  }
  if (one.size < size) {
    if (::ftruncate(fd.get(), static_cast<off_t>(one.size)) != 0) return cannot("mend");
    say("the last line of " + printable(name(number)) + " was cut short by a crash: its " +
        std::to_string(size - one.size) + " bytes are dropped");
  }
  one.fd = std::make_shared<const jail::Fd>(std::move(fd));
  return one;
}

int Files::start_file() {
  const std::uint64_t number = open_.empty() ? 1 : open_.rbegin()->first + 1;
  const auto begin = [&] {
    constexpr int kNew = O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    return jail::Fd(folder_ ? ::openat(folder_->get(), name(number).c_str(), kNew, 0600)
                            : ::memfd_create("sandglass-trace", MFD_CLOEXEC));
  };
  jail::Fd fd = begin();
  if (!fd.valid() && errno == ENOENT && mend_folder()) fd = begin();
  if (!fd.valid()) return errno;
  open_[number].fd = std::make_shared<const jail::Fd>(std::move(fd));
  while (open_.size() > options_.files) drop_oldest();
  return 0;
}

bool Files::mend_folder() {
  struct stat info {};
  if (!folder_ || ::fstat(folder_->get(), &info) != 0 || info.st_nlink > 0) {
    errno = ENOENT;
    return false;
  }
  const auto taken = take_folder();
  if (taken)
    say("the folder " + printable(options_.folder) +
        " was removed by somebody else; it is made anew");
  errno = ENOENT;
  return taken.has_value();
}

void Files::look_for_current() {
  auto& [number, one] = *open_.rbegin();
  look_for(number, one);
}

void Files::look_for_all() {
  for (auto& [number, one] : open_) look_for(number, one);
}

// stat(2): a file that somebody has removed takes what is written, and nobody ever finds it; in one
// that somebody has cut or written to, what comes next would not stand where it is looked for.
void Files::look_for(std::uint64_t number, One& one) {
  struct stat info {};
  if (!folder_ || one.removed || one.broken || ::fstat(one.fd->get(), &info) != 0) return;
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (info.st_nlink == 0) {
    one.removed = true;
    removed_ += one.lines;
    say(printable(name(number)) + " with " + std::to_string(one.lines) +
        " records was removed by somebody else");
  } else if (size != one.size) {
    const std::uint64_t left = size < one.size ? lines_in(*one.fd) : one.lines;
    const std::uint64_t lost = one.lines - std::min(left, one.lines);
    say(printable(name(number)) + " was changed by somebody else: " + std::to_string(lost) +
        " of its " + std::to_string(one.lines) + " records are lost");
    removed_ += lost;
    one.lines -= lost;
    one.size = size;
    one.broken = true;
  }
}

void Files::drop_oldest() {
  const auto oldest = open_.begin();
  if (!oldest->second.removed) aged_out_ += oldest->second.lines;
  if (folder_ && !oldest->second.removed) {
    const bool gone = ::unlinkat(folder_->get(), name(oldest->first).c_str(), 0) == 0;
    say(printable(name(oldest->first)) + " with " + std::to_string(oldest->second.lines) +
        " records " + (gone ? "is removed" : "cannot be removed: " + jail::errno_name(errno)) +
        ": there are more than " + std::to_string(options_.files) + " files");
  }
  open_.erase(oldest);
}

tl::expected<Place, int> Files::append(std::string_view line) {
  look_for_current();
  const One& full = open_.rbegin()->second;
  if (full.broken || full.removed) {
    if (const int error = start_file(); error != 0) return tl::unexpected(error);
  } else if (full.size > 0 && full.size + line.size() + 1 > options_.max_file.value) {
    // Where no file can be begun the old one grows: nothing is lost by it.
    const int error = start_file();
    if (error != 0 && error != rotation_error_)
      say("no new file can be begun (" + jail::errno_name(error) +
          "): " + printable(current_path()) + " grows beyond its size");
    rotation_error_ = error;
  }
  One& one = open_.rbegin()->second;
  std::string whole;
  whole.reserve(line.size() + 1);
  whole.append(line).append(1, '\n');
  if (const int error = write_all(*one.fd, whole); error != 0) {
    // No half line stays; where even that fails, nothing more goes behind it.
    one.broken = ::ftruncate(one.fd->get(), static_cast<off_t>(one.size)) != 0;
    return tl::unexpected(error);
  }
  const Place place{open_.rbegin()->first, one.size, static_cast<std::uint32_t>(line.size())};
  one.size += whole.size();
  ++one.lines;
  return place;
}

// Killed in between, it leaves a torn line of zeros, which the next start cuts off.
int Files::probe(jail::Bytes bytes) {
  look_for_current();
  One& one = open_.rbegin()->second;
  if (one.broken || one.removed) return start_file();
  const int error = write_all(*one.fd, std::string(bytes.value, '\0'));
  one.broken = ::ftruncate(one.fd->get(), static_cast<off_t>(one.size)) != 0;
  return error;
}

int Files::write_last_byte_again() {
  const auto& [number, one] = *open_.rbegin();
  if (!folder_ || one.size == 0) return 0;
  // open(2): with O_APPEND pwrite() writes behind the end.
  const jail::Fd fd(
      ::openat(folder_->get(), name(number).c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return errno;
  return ::pwrite(fd.get(), "\n", 1, static_cast<off_t>(one.size - 1)) == 1 ? 0 : errno;
}

std::shared_ptr<const jail::Fd> Files::file(std::uint64_t number) const {
  const auto found = open_.find(number);
  return found == open_.end() ? nullptr : found->second.fd;
}

std::optional<std::string> read_line(const jail::Fd& file, const Place& place) {
  std::string line(place.size, '\0');
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t got = ::pread(file.get(), line.data() + done, line.size() - done,
                                static_cast<off_t>(place.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return line;
}

std::uint64_t Files::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [number, one] : open_) sum += one.size;
  return sum;
}

}  // namespace runner::trace
