#include "runner/reach/fetch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

#include "runner/session/workdir.h"
#include "runner/text.h"

namespace runner::reach {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMost = std::size_t{1} << 20U;  // bytes read of one entry
constexpr std::uint64_t kManyFiles = 200;
constexpr std::uint64_t kHugeFile = std::uint64_t{64} << 20U;

std::string beginning_of(int fd) {
  std::string text(kMost, '\0');
  std::size_t have = 0;
  for (ssize_t n = 0; have < kMost && (n = ::read(fd, text.data() + have, kMost - have)) > 0;)
    have += static_cast<std::size_t>(n);
  text.resize(have);
  return text;
}

// Fit to be shown as it is.
bool is_plain(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// One entry, opened as a careless reader opens it, except that it does not hang.
std::string careless_look(const fs::path& path) {
  struct stat link {};
  if (::lstat(path.c_str(), &link) != 0) return "";
  if (S_ISSOCK(link.st_mode)) return "a socket was taken for a file";
  const jail::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return "";
  struct stat st {};
  if (::fstat(file.get(), &st) != 0) return "";
  if (S_ISFIFO(st.st_mode)) return "a reader would wait for ever on a FIFO";
  if (S_ISCHR(st.st_mode)) return "a reader would never come to the end of a device";
  if (S_ISDIR(st.st_mode)) return S_ISLNK(link.st_mode) ? "a folder outside was entered" : "";
  if (static_cast<std::uint64_t>(st.st_size) > kHugeFile)
    return "a reader would make room for what is not there";
  if (beginning_of(file.get()).find("CANARY-") != std::string::npos)
    return S_ISLNK(link.st_mode) ? "a file outside was fetched" : "followed to the very bottom";
  return link.st_nlink > 1 ? "a file outside was fetched by its second name" : "";
}

}  // namespace

std::string fetch_safely(const jail::Fd& workdir, const policies::Policy& policy) {
  std::string leaked;
  std::uint64_t files = 0;
  CollectLimits limits;
  limits.max_file = policy.files.max_file;
  limits.files = policy.files.outputs;
  const Collected collected =
      collect(workdir, limits, {},
              [&](const std::string& path, const jail::Fd& file,
                  jail::Bytes size) -> tl::expected<void, Undelivered> {
                struct stat st {};
                if (::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode))
                  leaked = "what is no file was fetched";
                if (size.value > policy.files.max_file.value) leaked = "a file over the limit";
                if (++files > policy.files.outputs) leaked = "more files than the limit";
                if (beginning_of(file.get()).find("CANARY-") != std::string::npos)
                  leaked = "a file outside was fetched";
                if (!is_plain(printable(path))) leaked = "a name is shown as it is";
                return {};
              });
  return leaked;
}

std::string fetch_carelessly(const std::string& folder) {
  std::uint64_t files = 0;
  std::error_code error;
  auto at = fs::recursive_directory_iterator(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (++files > kManyFiles) return "a reader would go through all of it";
    if (!is_plain(at->path().filename().string())) return "a name is shown as it is";
    if (std::string found = careless_look(at->path()); !found.empty()) return found;
  }
  return "";
}

}  // namespace runner::reach
