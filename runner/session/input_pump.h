// Passes our stdin on to a payload, a buffer at a time: nothing is read before the last buffer is
// gone, so memory stays bounded and nothing spins. Ends quietly when either side closes.
// One event loop, its thread. Held by shared_ptr: pending waits keep it alive.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "jail/fd.h"
#include "runner/session/caller_fd.h"

namespace runner {

class InputPump : public std::enable_shared_from_this<InputPump> {
 public:
  // `target` is the write end of a pipe, non-blocking. SIGPIPE must be ignored.
  InputPump(boost::asio::io_context& io, int source_fd, jail::Fd target);
  ~InputPump();
  InputPump(const InputPump&) = delete;
  InputPump& operator=(const InputPump&) = delete;
  InputPump(InputPump&&) = delete;
  InputPump& operator=(InputPump&&) = delete;

  void start() { wait_for_source(); }
  void stop();

 private:
  void wait_for_source();
  void read_some();
  void flush();

  int source_fd_;
  CallerFd source_;
  boost::asio::posix::stream_descriptor wait_;
  boost::asio::steady_timer pause_;
  jail::Fd target_;
  std::unique_ptr<char[]> buffer_;  // kBuffer bytes, once something comes
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool stopped_ = false;
};

}  // namespace runner
