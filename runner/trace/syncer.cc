#include "runner/trace/syncer.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <utility>

namespace runner::trace {

Syncer::Syncer(boost::asio::io_context& loop, std::chrono::milliseconds interval, Done failed)
    : loop_(loop), interval_(interval), failed_(std::move(failed)) {
  // Signals are the main thread's: a new thread inherits the mask.
  sigset_t all;
  sigset_t before;
  (void)::sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Syncer::~Syncer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Syncer::written(const File& file) {
  const std::lock_guard lock(mutex_);
  // The same file again, mostly. The thread looks by itself when its interval is over: no wake-up.
  if (std::find(dirty_.begin(), dirty_.end(), file) == dirty_.end()) dirty_.push_back(file);
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
  for (;;) {
    changed_.wait_for(lock, interval_, [this] { return ending_ || !waiting_.empty(); });
    const bool last = ending_;
    const std::vector<File> files = std::exchange(dirty_, {});
    std::vector<Done> waiting = std::exchange(waiting_, {});
    lock.unlock();
    int error = 0;
    for (const File& file : files)
      if (::fdatasync(file->get()) != 0 && error == 0) error = errno;
    if (last) return;
    if (error != 0 || !waiting.empty()) report(error, std::move(waiting));
    lock.lock();
  }
}

void Syncer::report(int error, std::vector<Done> waiting) {
  // A loop that has nothing else to do must not end meanwhile: post() counts as work.
  boost::asio::post(loop_,
                    [this, error, waiting = std::move(waiting), alive = std::weak_ptr(alive_)] {
                      if (alive.expired()) return;
                      if (error != 0 && failed_) failed_(error);
                      for (const Done& done : waiting) done(error);
                    });
}

}  // namespace runner::trace
