#include "runner/service/hasher.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "runner/trace/digest.h"

namespace runner {
namespace {

constexpr std::size_t kMostTasks = 1000;

bool same_time(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

Digest digest_of(const jail::Fd& file, std::uint64_t size, const std::stop_token& stop) {
  struct stat before {};
  struct stat after {};
  (void)::fstat(file.get(), &before);
  trace::Digest digest;
  std::array<char, 65536> buffer;
  std::uint64_t at = 0;
  while (at < size && !stop.stop_requested()) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(size - at, buffer.size()));
    const ssize_t n = ::pread(file.get(), buffer.data(), most, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    digest.add({buffer.data(), static_cast<std::size_t>(n)});
    at += static_cast<std::uint64_t>(n);
  }
  (void)::fstat(file.get(), &after);
  if (at < size || !same_time(before.st_mtim, after.st_mtim) ||
      static_cast<std::uint64_t>(after.st_size) != size)
    return {"", "the file was written to while it was read"};
  return {digest.hex(), ""};
}

}  // namespace

Digest sha256_of(const jail::Fd& file, std::uint64_t size) { return digest_of(file, size, {}); }

bool Hasher::hash(jail::Fd file, std::uint64_t size, std::weak_ptr<void> wanted, Done done) {
  if (worker_.waiting() >= kMostTasks) return false;
  struct Task {
    jail::Fd file;
    Digest digest;
  };
  const auto task = std::make_shared<Task>(Task{std::move(file), {}});
  worker_.run(
      std::move(wanted),
      [task, size](const std::stop_token& stop) {
        task->digest = digest_of(task->file, size, stop);
      },
      [task, done = std::move(done)] { done(std::move(task->digest)); });
  return true;
}

}  // namespace runner
