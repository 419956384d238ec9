#include "runner/session/caller_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <climits>

namespace runner {
namespace {

namespace asio = boost::asio;

epoll_event event_of(Direction direction) {
  epoll_event event{};
  event.events = EPOLLONESHOT | (direction == Direction::kRead ? EPOLLIN : EPOLLOUT);
  return event;
}

}  // namespace

CallerFd::CallerFd(asio::io_context& io, int fd, Direction direction)
    : fd_(fd), direction_(direction), wait_(io) {
  jail::Fd poll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event none{};  // armed by async_ready
  // epoll_ctl(2): EPERM for a file that cannot be polled.
  if (poll.valid() && ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, fd, &none) == 0) {
    wait_.assign(poll.get());
    poll_ = std::move(poll);
  }
}

CallerFd::~CallerFd() {
  if (poll_.valid()) wait_.release();  // poll_ closes it
}

void CallerFd::async_ready(std::function<void()> ready) {
  if (!poll_.valid()) {
    asio::post(wait_.get_executor(), std::move(ready));
    return;
  }
  epoll_event event = event_of(direction_);
  ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, fd_, &event);
  wait_.async_wait(asio::posix::descriptor_base::wait_read,
                   [this, ready = std::move(ready)](const boost::system::error_code& error) {
                     if (error) return;
                     // Takes the event out, so that the next wait starts from nothing.
                     epoll_event taken{};
                     ::epoll_wait(poll_.get(), &taken, 1, 0);
                     ready();
                   });
}

void CallerFd::cancel() {
  if (poll_.valid()) wait_.cancel();
}

bool CallerFd::is_ready() const {
  if (!poll_.valid()) return true;
  pollfd one{fd_, static_cast<short>(direction_ == Direction::kRead ? POLLIN : POLLOUT), 0};
  return ::poll(&one, 1, 0) == 1;
}

ssize_t CallerFd::read(std::span<char> buffer) const {
  if (!is_ready()) {
    errno = EAGAIN;
    return -1;
  }
  return ::read(fd_, buffer.data(), buffer.size());
}

ssize_t CallerFd::write(std::span<const char> bytes) const {
  if (!is_ready()) {
    errno = EAGAIN;
    return -1;
  }
  // pipe(7): a pipe that polls as writable takes PIPE_BUF bytes without blocking.
  const std::size_t count =
      poll_.valid() ? std::min<std::size_t>(bytes.size(), PIPE_BUF) : bytes.size();
  return ::write(fd_, bytes.data(), count);
}

void ensure_stdio() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
      // open(2): the lowest free number, which is `fd`. Stays open until we exit.
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    }
  }
}

}  // namespace runner
