// Makes what was written outlive the machine: fdatasync(2), which may take tens of milliseconds, on
// a thread of its own. Whoever waits is told on the loop; all who wait at one moment share one
// fdatasync.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "jail/fd.h"

namespace runner::trace {

class Syncer {
 public:
  using File = std::shared_ptr<const jail::Fd>;
  using Done = std::function<void(int error)>;  // 0 or the errno of fdatasync

  // What was written is on disk at most `interval` later. `loop` outlives this; the calls and `on`
  // are its thread's. `failed` hears of every fdatasync that failed, and of no other.
  Syncer(boost::asio::io_context& loop, std::chrono::milliseconds interval, Done failed);
  ~Syncer();  // syncs what is left; who still waits is not told
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;
  Syncer(Syncer&&) = delete;
  Syncer& operator=(Syncer&&) = delete;

  void written(const File& file);
  // `done` is called from the loop once all that was written() before is on disk, or failed to be.
  void when_durable(Done done);

 private:
  void work();
  void report(int error, std::vector<Done> waiting);

  boost::asio::io_context& loop_;
  const std::chrono::milliseconds interval_;
  const Done failed_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();

  std::mutex mutex_;  // guards what stands below
  std::condition_variable changed_;
  std::vector<File> dirty_;
  std::vector<Done> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace runner::trace
