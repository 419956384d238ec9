#include "runner/session/interpreter.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

namespace runner {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kOneRead = 65536;
constexpr std::chrono::milliseconds kLastWords{250};

Error cannot_make(const char* what) {
  return Error{ErrorKind::kHost, std::string("cannot make a ") + what + ": " +
                                     jail::errno_name(errno) + "; raise ulimit -n"};
}

}  // namespace

struct Interpreter::Pipe {
  StreamOf stream;
  asio::posix::stream_descriptor end;
  bool waiting = false;
  bool over = false;
};

Interpreter::Interpreter(asio::io_context& io, Launcher& launcher)
    : io_(io), launcher_(launcher), silence_(io) {}

Interpreter::~Interpreter() {
  launcher_.forget(id_);
  if (channel_) channel_->stop();
}

void Interpreter::join(std::uint32_t prototype, const jail::Fd& plan, std::uint64_t into,
                       const jail::Fd* command) {
  id_ = into;
  const auto later = [this](Error error) {
    asio::post(io_, [this, alive = std::weak_ptr(alive_), error = std::move(error)] {
      if (!alive.expired()) end(tl::unexpected(error));
    });
  };
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return later(cannot_make("socket pair"));
  channel_ = std::make_shared<Channel>(io_, jail::Fd(pair[0]));
  const jail::Fd theirs(pair[1]);
  std::array<jail::Fd, 2> writes;
  for (std::size_t i = 0; i < 2; ++i) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return later(cannot_make("pipe"));
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    pipes_.push_back(std::make_unique<Pipe>(
        Pipe{i == 0 ? StreamOf::kOut : StreamOf::kErr, asio::posix::stream_descriptor(io_)}));
    pipes_.back()->end.assign(ends[0]);
    writes[i] = jail::Fd(ends[1]);
  }
  const jail::Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.valid()) return later(cannot_make("stdin"));
  const auto id =
      launcher_.join(prototype, plan, theirs, {null, writes[0], writes[1]}, *this, into, command);
  if (!id) return later(id.error());
  id_ = *id;
}

void Interpreter::on_launched(jail::Launched launched) {
  if (launched.error) {
    return end(tl::unexpected(
        Error{ErrorKind::kSetup, jail::describe(*launched.error, nullptr), launched.error}));
  }
  workdir_ = std::move(launched.workdir);
  meter_ = launcher_.meter_of(std::move(launched.meter));
  channel_->start({[this](const boost::json::object& frame) { on_frame(frame); },
                   [this](const std::string&) { lose_voice(); }});
  for (auto& pipe : pipes_) wait_for(*pipe);
}

// Its end follows, and says more than we could; unless it lives on without a voice.
void Interpreter::lose_voice() {
  silence_.expires_after(kLastWords);
  silence_.async_wait(
      [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
        if (!error && !alive.expired() && !over_) launcher_.kill(id_);
      });
}

void Interpreter::on_frame(const boost::json::object& frame) {
  const std::weak_ptr alive = alive_;
  drain();
  if (alive.expired()) return;
  const auto* event = frame.if_contains("ev");
  if (!ready_) {
    if (event == nullptr || !event->is_string() || event->get_string() != "ready") return;
    ready_ = true;
    // Copies, here and below: what is called may let go of us, and of itself.
    if (const auto ready = events_.ready) ready();
    return;
  }
  if (const auto take = events_.frame) take(frame);
}

void Interpreter::arm(jail::Millis cpu_time) {
  if (!meter_.is_valid() || !meter_.arm(cpu_time)) launcher_.arm(id_, cpu_time);
}

void Interpreter::ask_usage() {
  const auto used = meter_.used();
  if (!used) return launcher_.ask_usage(id_);
  asio::post(io_, [this, alive = std::weak_ptr(alive_), used = *used] {
    if (!alive.expired() && !over_ && events_.usage) events_.usage(used);
  });
}

void Interpreter::on_denied(std::vector<jail::Denied> denied) {
  if (const auto take = events_.denied) take(std::move(denied));
}

void Interpreter::on_usage(const jail::Ended& so_far) {
  if (const auto take = events_.usage) take(so_far);
}

void Interpreter::on_ended(const jail::Ended& ended) {
  const std::weak_ptr alive = alive_;
  drain();
  if (!alive.expired()) end(ended);
}

void Interpreter::on_lost(const Error& error) { end(tl::unexpected(error)); }

void Interpreter::end(Result<jail::Ended> how) {
  if (std::exchange(over_, true)) return;
  ready_ = false;
  launcher_.forget(id_);
  if (channel_) channel_->stop();
  for (auto& pipe : pipes_)
    if (pipe->end.is_open()) pipe->end.close();
  if (const auto ended = std::exchange(events_.ended, nullptr)) ended(std::move(how));
}

void Interpreter::pause() {
  paused_ = true;
  if (channel_) channel_->pause();
}

void Interpreter::resume() {
  if (!std::exchange(paused_, false)) return;
  const std::weak_ptr alive = alive_;
  for (auto& pipe : pipes_) wait_for(*pipe);
  const auto channel = channel_;
  if (channel && !alive.expired()) channel->resume();
}

void Interpreter::wait_for(Pipe& pipe) {
  if (pipe.waiting || pipe.over || paused_ || over_) return;
  pipe.waiting = true;
  pipe.end.async_wait(
      asio::posix::descriptor_base::wait_read,
      [this, &pipe, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
        if (alive.expired()) return;
        pipe.waiting = false;
        if (error || paused_ || over_) return;
        if (read_from(pipe, kOneRead)) wait_for(pipe);
      });
}

// False when we are gone, or the pipe is at its end.
bool Interpreter::read_from(Pipe& pipe, std::size_t most) {
  std::array<char, kOneRead> buffer;
  const ssize_t n = ::read(pipe.end.native_handle(), buffer.data(), std::min(most, buffer.size()));
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) {
    pipe.over = true;
    return false;
  }
  const std::weak_ptr alive = alive_;
  if (const auto take = events_.output)
    take(pipe.stream, std::string_view(buffer.data(), static_cast<std::size_t>(n)));
  return !alive.expired();
}

// What lies in a pipe now, and not what is written meanwhile: a flood would never end.
void Interpreter::drain() {
  for (auto& pipe : pipes_) {
    int waiting = 0;
    if (!pipe->end.is_open() || ::ioctl(pipe->end.native_handle(), FIONREAD, &waiting) != 0)
      continue;
    const std::weak_ptr alive = alive_;
    for (auto left = static_cast<std::size_t>(std::max(waiting, 0)); left > 0;) {
      const std::size_t part = std::min(left, kOneRead);
      left -= part;
      const bool more = read_from(*pipe, part);
      if (alive.expired()) return;
      if (!more) break;
    }
  }
}

}  // namespace runner
