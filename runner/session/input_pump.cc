#include "runner/session/input_pump.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace runner {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kBuffer = 64UL * 1024;

// Reading a terminal from its background stops the reader (SIGTTIN).
bool in_background_of(int fd) {
  const pid_t foreground = ::tcgetpgrp(fd);  // -1: not our terminal
  return foreground >= 0 && foreground != ::getpgrp();
}

}  // namespace

InputPump::InputPump(asio::io_context& io, int source_fd, jail::Fd target)
    : source_fd_(source_fd),
      source_(io, source_fd, Direction::kRead),
      wait_(io, target.get()),
      pause_(io),
      target_(std::move(target)) {}

InputPump::~InputPump() {
  if (target_.valid()) wait_.release();  // target_ closes it
}

void InputPump::stop() {
  if (stopped_) return;
  stopped_ = true;
  source_.cancel();
  pause_.cancel();
  wait_.release();
  target_.reset();  // the payload sees the end of its stdin
}

void InputPump::wait_for_source() {
  source_.async_ready([self = shared_from_this()] {
    if (!self->stopped_) self->read_some();
  });
}

void InputPump::read_some() {
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kBuffer);
  const bool background = in_background_of(source_fd_);
  const ssize_t got = background ? -1 : source_.read({buffer_.get(), kBuffer});
  if (background || (got < 0 && (errno == EAGAIN || errno == EINTR))) {
    constexpr auto kPause = std::chrono::milliseconds(100);
    pause_.expires_after(kPause);
    pause_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error && !self->stopped_) self->wait_for_source();
    });
    return;
  }
  if (got <= 0) return stop();
  begin_ = 0;
  end_ = static_cast<std::size_t>(got);
  flush();
}

void InputPump::flush() {
  while (begin_ < end_) {
    const ssize_t wrote = ::write(target_.get(), buffer_.get() + begin_, end_ - begin_);
    if (wrote >= 0) {
      begin_ += static_cast<std::size_t>(wrote);
    } else if (errno == EAGAIN) {
      wait_.async_wait(asio::posix::descriptor_base::wait_write,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                         if (!error && !self->stopped_) self->flush();
                       });
      return;
    } else if (errno != EINTR) {
      return stop();  // EPIPE: the payload has closed its stdin
    }
  }
  wait_for_source();
}

}  // namespace runner
