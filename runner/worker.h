// What takes longer than a loop that serves everybody may be held: one thread beside it, started
// when first needed. Tasks come one after the other, in the order in which they were given.
#pragma once

#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

namespace runner {

// A thread to which no signal goes: they are the loop's business.
std::jthread start_thread(std::function<void(const std::stop_token& stop)> serve);

class Worker {
 public:
  // `stop`: the worker ends, and the work may be given up.
  using Work = std::function<void(const std::stop_token& stop)>;
  using Done = std::function<void()>;

  // `loop` outlives this; the calls are its thread's.
  explicit Worker(boost::asio::io_context& loop) : loop_(loop) {}
  ~Worker();  // waits for the task at hand; the others are dropped, and nobody is told
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  Worker(Worker&&) = delete;
  Worker& operator=(Worker&&) = delete;

  // `work` on the thread, then `done` from the loop. Both are let go of on the loop. When `wanted`
  // is gone, neither need be called.
  void run(std::weak_ptr<const void> wanted, Work work, Done done);
  // Tasks that have not begun.
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Task {
    std::weak_ptr<const void> wanted;
    Work work;
    Done done;
  };
  void serve(const std::stop_token& stop);

  boost::asio::io_context& loop_;
  mutable std::mutex mutex_;  // guards tasks_
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<Task>> tasks_;
  std::jthread thread_;  // the last member: it ends before the others go
};

}  // namespace runner
