#include "runner/trace/syncer.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "runner/worker.h"

namespace runner::trace {

Syncer::Syncer(boost::asio::io_context& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      thread_(start_thread([this](const std::stop_token& /*stop*/) { work(); })) {}

Syncer::~Syncer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Syncer::written(const File& file, std::uint64_t records) {
  const std::lock_guard lock(mutex_);
  // The same file again, mostly. The thread looks by itself when its interval is over: no wake-up.
  if (std::find(dirty_.begin(), dirty_.end(), file) == dirty_.end()) dirty_.push_back(file);
  records_ += records;
}

void Syncer::when_durable(Done done) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(done));
  }
  changed_.notify_one();
}

void Syncer::work() {
  std::unique_lock lock(mutex_);
  bool failed = false;  // the last round
  for (;;) {
    changed_.wait_for(lock, options_.interval, [this] { return ending_ || !waiting_.empty(); });
    const bool last = ending_;
    const std::vector<File> files = std::exchange(dirty_, {});
    const std::uint64_t records = std::exchange(records_, 0);
    std::vector<Done> waiting = std::exchange(waiting_, {});
    lock.unlock();
    int error = 0;
    for (const File& file : files)
      if (options_.sync(file->get()) != 0 && error == 0) error = errno;
    if (last) return;
    // A round without a file says nothing about the disk.
    const bool mended = failed && error == 0 && !files.empty();
    if (!files.empty()) failed = error != 0;
    const bool is_news = failed || mended;
    if (is_news || !waiting.empty())
      report(error, is_news ? std::optional(records) : std::nullopt, std::move(waiting));
    lock.lock();
  }
}

void Syncer::report(int error, std::optional<std::uint64_t> records, std::vector<Done> waiting) {
  // A loop that has nothing else to do must not end meanwhile: post() counts as work.
  boost::asio::post(
      loop_, [this, error, records, waiting = std::move(waiting), alive = std::weak_ptr(alive_)] {
        if (alive.expired()) return;
        if (records && options_.synced) options_.synced(error, *records);
        for (const Done& done : waiting) done(error);
      });
}

}  // namespace runner::trace
