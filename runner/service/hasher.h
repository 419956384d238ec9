// SHA-256 of files, away from the loop that serves everybody: one thread. Files come one after the
// other, whoever's they are, so no container can keep the rest waiting for more than what lies
// before it. Called from the loop; answers come from the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "jail/fd.h"
#include "runner/worker.h"

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

  // At its end it waits for the file that is being read, which is given up.
  explicit Hasher(boost::asio::io_context& io) : worker_(io) {}

  // `wanted`: when it is gone, so is the interest, and `done` may never be called. False: as many
  // wait as may hold a descriptor.
  bool hash(jail::Fd file, std::uint64_t size, std::weak_ptr<void> wanted, Done done);

 private:
  Worker worker_;
};

}  // namespace runner
