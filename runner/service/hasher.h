// SHA-256 of files, away from the loop that serves everybody: one thread, started when first
// needed. Files come one after the other, whoever's they are, so no container can keep the rest
// waiting for more than what lies before it. Called from the loop; answers come from the loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "jail/fd.h"

namespace runner {

struct Digest {
  std::string sha256;  // hex; empty: `why` says why not
  std::string why;
};

// Of the first `size` bytes. Whoever writes to the file meanwhile makes it no longer.
Digest sha256_of(const jail::Fd& file, std::uint64_t size);

class Hasher {
 public:
  using Done = std::function<void(Digest)>;

  explicit Hasher(boost::asio::io_context& io) : io_(io) {}
  ~Hasher();  // waits for the file that is being read, which is given up
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  Hasher(Hasher&&) = delete;
  Hasher& operator=(Hasher&&) = delete;

  // `wanted`: when it is gone, so is the interest, and `done` may never be called. False: as many
  // wait as may hold a descriptor.
  bool hash(jail::Fd file, std::uint64_t size, std::weak_ptr<void> wanted, Done done);

 private:
  struct Task {
    jail::Fd file;
    std::uint64_t size = 0;
    std::weak_ptr<void> wanted;
    Done done;
  };
  void work(const std::stop_token& stop);

  boost::asio::io_context& io_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Task> tasks_;
  std::jthread thread_;  // the last member: it ends before the others go
};

}  // namespace runner
