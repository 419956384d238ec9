#include "runner/session/output_pump.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>

namespace runner {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kBuffer = 64UL * 1024;  // what a pipe holds

}  // namespace

OutputPump::OutputPump(asio::io_context& io, jail::Fd source, int sink_fd, jail::Bytes cap)
    : wait_(io, source.get()),
      source_(std::move(source)),
      cap_(cap.value),
      buffer_(std::make_unique_for_overwrite<char[]>(kBuffer)) {
  if (sink_fd >= 0) sink_ = std::make_unique<CallerFd>(io, sink_fd, Direction::kWrite);
}

OutputPump::~OutputPump() { wait_.release(); }  // source_ closes it

void OutputPump::start(Events events) {
  events_ = std::move(events);
  wait_for_source();
}

void OutputPump::stop() {
  if (stopped_) return;
  stopped_ = true;
  events_ = {};
  wait_.cancel();
  if (sink_) sink_->cancel();
}

Stream OutputPump::stream() const noexcept { return {produced_, passed_ < produced_}; }

void OutputPump::wait_for_source() {
  wait_.async_wait(asio::posix::descriptor_base::wait_read,
                   [self = shared_from_this()](const boost::system::error_code& error) {
                     if (!error && !self->stopped_) self->read_some();
                   });
}

void OutputPump::read_some() {
  // A few buffers a turn, so that one busy stream does not keep timers and the other one waiting.
  constexpr int kTurns = 4;
  for (int turn = 0; turn < kTurns; ++turn) {
    const ssize_t got = ::read(source_.get(), buffer_.get(), kBuffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) return end();
    accept(static_cast<std::size_t>(got));
    if (!flush() || stopped_) return;
  }
  wait_for_source();
}

void OutputPump::accept(std::size_t count) {
  const std::uint64_t room = cap_ - std::min(cap_, produced_);
  produced_ += count;
  const auto pass = static_cast<std::size_t>(std::min<std::uint64_t>(room, count));
  if (sink_) {
    pending_begin_ = 0;
    pending_end_ = pass;
  } else {
    kept_.append(buffer_.get(), pass);
    passed_ += pass;
  }
}

bool OutputPump::flush() {
  while (sink_ && pending_begin_ < pending_end_) {
    const ssize_t wrote =
        sink_->write({buffer_.get() + pending_begin_, pending_end_ - pending_begin_});
    if (wrote >= 0) {
      pending_begin_ += static_cast<std::size_t>(wrote);
      passed_ += static_cast<std::uint64_t>(wrote);
    } else if (errno == EAGAIN) {
      waiting_for_sink_ = true;
      sink_->async_ready([self = shared_from_this()] {
        self->waiting_for_sink_ = false;
        if (!self->stopped_ && self->flush()) self->wait_for_source();
      });
      return false;
    } else if (errno != EINTR) {
      const int error = errno;
      sink_.reset();
      sink_gone_ = true;
      cap_ = 0;  // from here on the stream is read and dropped
      pending_begin_ = pending_end_ = 0;
      if (events_.sink_failed) events_.sink_failed(error);
    }
  }
  return true;
}

void OutputPump::end() {
  ended_ = true;
  if (const auto ended = std::move(events_.ended)) ended();
}

}  // namespace runner
