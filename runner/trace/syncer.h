// Makes what was written outlive the machine: fdatasync(2), which may take tens of milliseconds, on
// a thread of its own. Whoever waits is told on the loop; all who wait at one moment share one
// fdatasync.
#pragma once

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "jail/fd.h"

namespace runner::trace {

class Syncer {
 public:
  using File = std::shared_ptr<const jail::Fd>;
  using Done = std::function<void(int error)>;  // 0 or the errno of fdatasync
  using Synced = std::function<void(int error, std::uint64_t records)>;
  struct Options {
    std::chrono::milliseconds interval{1000};  // what was written is on disk at most so much later
    int (*sync)(int fd) = ::fdatasync;         // on a thread of its own
    // Hears of each round that failed, with the records that hung on it, and of the first good one
    // after it. Before those who wait for that round.
    Synced synced;
  };

  // `loop` outlives this; the calls, and those of `synced`, are its thread's.
  Syncer(boost::asio::io_context& loop, Options options);
  ~Syncer();  // syncs what is left; who still waits is not told
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;
  Syncer(Syncer&&) = delete;
  Syncer& operator=(Syncer&&) = delete;

  // `records`: how many, if the file holds such.
  void written(const File& file, std::uint64_t records);
  // `done` is called from the loop once all that was written() before is on disk, or failed to be.
  void when_durable(Done done);

 private:
  void work();
  // `records`: of a round that `synced` is to hear of.
  void report(int error, std::optional<std::uint64_t> records, std::vector<Done> waiting);

  boost::asio::io_context& loop_;
  const Options options_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();

  std::mutex mutex_;  // guards what stands below
  std::condition_variable changed_;
  std::vector<File> dirty_;
  std::uint64_t records_ = 0;  // in them
  std::vector<Done> waiting_;
  bool ending_ = false;
  std::jthread thread_;
};

}  // namespace runner::trace
