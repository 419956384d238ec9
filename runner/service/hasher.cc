#include "runner/service/hasher.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
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

Hasher::~Hasher() {
  thread_.request_stop();
  changed_.notify_all();
}

bool Hasher::hash(jail::Fd file, std::uint64_t size, std::weak_ptr<void> wanted, Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= kMostTasks) return false;
    tasks_.push_back({std::move(file), size, std::move(wanted), std::move(done)});
  }
  changed_.notify_one();
  if (thread_.joinable()) return true;
  // pthread_create(3): a thread inherits the mask, and signals are the loop's business.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return true;
}

void Hasher::work(const std::stop_token& stop) {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    Digest digest;
    if (!task.wanted.expired()) digest = digest_of(task.file, task.size, stop);
    // Whatever the task holds goes on the loop's thread.
    boost::asio::post(io_, [task = std::make_shared<Task>(std::move(task)), digest] {
      if (!task->wanted.expired()) task->done(digest);
    });
  }
}

}  // namespace runner
