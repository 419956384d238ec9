// Waits on a descriptor that belongs to whoever started us (our stdin, stdout, stderr) without
// touching it: O_NONBLOCK is a property of the open file description, which we share with the
// caller's shell, so it must stay as it is. The descriptor is put into an epoll instance of our
// own, and the event loop waits on that. Regular files and devices such as /dev/null cannot be
// polled; they are always ready. One event loop, its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <span>

#include "jail/fd.h"

namespace runner {

enum class Direction { kRead, kWrite };

class CallerFd {
 public:
  // `fd` is borrowed and stays open for longer than this object.
  CallerFd(boost::asio::io_context& io, int fd, Direction direction);
  ~CallerFd();
  CallerFd(const CallerFd&) = delete;
  CallerFd& operator=(const CallerFd&) = delete;
  CallerFd(CallerFd&&) = delete;
  CallerFd& operator=(CallerFd&&) = delete;

  // Calls `ready` once, from the event loop, when a read or write would not block. Not after
  // cancel(). At most one wait at a time. `ready` must keep this object's owner alive.
  void async_ready(std::function<void()> ready);
  void cancel();

  // After `ready`: read(2) and write(2), at most what cannot block. -1 and errno as there; EAGAIN
  // also when somebody else was quicker, or when we are in the background of a terminal.
  [[nodiscard]] ssize_t read(std::span<char> buffer) const;
  [[nodiscard]] ssize_t write(std::span<const char> bytes) const;

 private:
  [[nodiscard]] bool is_ready() const;

  int fd_;
  Direction direction_;
  jail::Fd poll_;  // epoll instance; invalid: always ready
  boost::asio::posix::stream_descriptor wait_;
};

// Opens /dev/null on 0, 1 and 2 where the caller closed them, so that no pipe of ours gets such a
// number. Call first thing.
void ensure_stdio() noexcept;

}  // namespace runner
