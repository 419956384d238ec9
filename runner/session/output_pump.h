// Takes what a payload writes to one stream, and passes it on as it comes (to our caller's
// descriptor) or keeps it (for JSON). Passes at most `cap` bytes; beyond it keeps reading and
// counting, so that the payload neither blocks nor dies, and our memory does not grow.
// A caller that does not read holds up the payload, not us: no byte is read ahead of what could be
// written. One event loop, its thread. Held by shared_ptr: pending waits keep it alive.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "jail/fd.h"
#include "jail/units.h"
#include "runner/session/caller_fd.h"
#include "runner/session/outcome.h"

namespace runner {

class OutputPump : public std::enable_shared_from_this<OutputPump> {
 public:
  struct Events {
    std::function<void()> ended;                 // the stream is at its end, once
    std::function<void(int error)> sink_failed;  // errno of write(2); the stream goes on, unheard
  };

  // `source` is the read end of a pipe, non-blocking. `sink_fd` < 0: keep instead of pass on.
  OutputPump(boost::asio::io_context& io, jail::Fd source, int sink_fd, jail::Bytes cap);
  ~OutputPump();
  OutputPump(const OutputPump&) = delete;
  OutputPump& operator=(const OutputPump&) = delete;
  OutputPump(OutputPump&&) = delete;
  OutputPump& operator=(OutputPump&&) = delete;

  void start(Events events);
  // Ends here and now: no event follows. What was read but not passed on counts as truncated.
  void stop();

  // True while the caller's descriptor takes nothing.
  [[nodiscard]] bool is_held_up() const noexcept { return waiting_for_sink_; }
  [[nodiscard]] bool is_over() const noexcept { return ended_ || stopped_; }
  [[nodiscard]] bool sink_is_gone() const noexcept { return sink_gone_; }
  [[nodiscard]] Stream stream() const noexcept;
  [[nodiscard]] std::string take_kept() noexcept { return std::move(kept_); }

 private:
  void wait_for_source();
  void read_some();
  void accept(std::size_t count);
  bool flush();  // false: waits for the sink
  void end();

  boost::asio::posix::stream_descriptor wait_;
  jail::Fd source_;
  std::unique_ptr<CallerFd> sink_;
  std::uint64_t cap_;
  Events events_;
  std::unique_ptr<char[]> buffer_;  // kBuffer bytes, never zeroed: only what is used gets pages
  std::size_t pending_begin_ = 0;
  std::size_t pending_end_ = 0;
  std::uint64_t produced_ = 0;
  std::uint64_t passed_ = 0;
  std::string kept_;
  bool waiting_for_sink_ = false;
  bool ended_ = false;
  bool sink_gone_ = false;
  bool stopped_ = false;
};

}  // namespace runner
