#include "runner/worker.h"

#include <boost/asio/post.hpp>
#include <csignal>
#include <utility>

namespace runner {

// pthread_create(3): a thread inherits the mask.
std::jthread start_thread(std::function<void(const std::stop_token& stop)> serve) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::jthread thread(std::move(serve));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

Worker::~Worker() {
  thread_.request_stop();
  changed_.notify_all();
}

void Worker::run(std::weak_ptr<const void> wanted, Work work, Done done) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(
        std::make_shared<Task>(Task{std::move(wanted), std::move(work), std::move(done)}));
  }
  changed_.notify_one();
  if (!thread_.joinable())
    thread_ = start_thread([this](const std::stop_token& stop) { serve(stop); });
}

std::size_t Worker::waiting() const {
  const std::lock_guard lock(mutex_);
  return tasks_.size();
}

void Worker::serve(const std::stop_token& stop) {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) return;
    if (stop.stop_requested()) return;
    std::shared_ptr<Task> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    if (!task->wanted.expired()) task->work(stop);
    boost::asio::post(loop_, [task = std::move(task)] {
      if (!task->wanted.expired()) task->done();
    });
  }
}

}  // namespace runner
