#include "runner/session/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/json/parse.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

namespace runner {
namespace {

constexpr std::size_t kHead = 4;

std::size_t length_of(const std::string& bytes) {
  std::size_t length = 0;
  for (std::size_t i = kHead; i-- > 0;)
    length = length << 8U | static_cast<unsigned char>(bytes[i]);
  return length;
}

}  // namespace

Channel::Channel(boost::asio::io_context& io, jail::Fd socket) : socket_(io) {
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  socket_.assign(socket.release());
}

void Channel::start(Events events) {
  events_ = std::move(events);
  wait_to_read();
}

void Channel::stop() {
  stopped_ = true;
  events_ = {};
  if (socket_.is_open()) socket_.close();
}

void Channel::resume() {
  if (!std::exchange(paused_, false) || stopped_) return;
  if (take_frames()) wait_to_read();
}

void Channel::wait_to_read() {
  if (stopped_ || paused_ || reading_) return;
  reading_ = true;
  socket_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->reading_ = false;
                       if (!error && !self->stopped_ && !self->paused_) self->read_some();
                     });
}

void Channel::read_some() {
  // Once a turn: a flood of small frames must not keep the loop from everybody else.
  std::array<char, 65536> buffer;
  const ssize_t n = ::read(socket_.native_handle(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return wait_to_read();
  if (n <= 0) return fail("the driver has closed its channel");
  in_.append(buffer.data(), static_cast<std::size_t>(n));
  if (take_frames()) wait_to_read();
}

bool Channel::take_frames() {
  const auto self = shared_from_this();  // an event may let go of us, and of what we call
  const auto frame = events_.frame;
  std::size_t at = 0;
  while (!stopped_ && !paused_ && in_.size() - at >= kHead) {
    const std::size_t length = length_of(in_.substr(at, kHead));
    if (length > kMostIn) return fail("a frame of " + std::to_string(length) + " bytes"), false;
    if (in_.size() - at - kHead < length) break;
    boost::system::error_code error;
    boost::json::parse_options strict;
    strict.max_depth = 32;
    const auto value = boost::json::parse(boost::json::string_view(in_.data() + at + kHead, length),
                                          error, {}, strict);
    at += kHead + length;
    if (error || !value.is_object()) return fail("a frame that is no JSON object"), false;
    if (frame) frame(value.as_object());
  }
  in_.erase(0, at);
  return !stopped_ && !paused_;
}

bool Channel::send(const std::string& json) {
  if (json.size() > kMostOut) return false;
  for (std::size_t i = 0; i < kHead; ++i)
    out_ += static_cast<char>(static_cast<unsigned char>(json.size() >> (8 * i)));
  return send_raw(json);
}

bool Channel::send_raw(const std::string& bytes) {
  if (bytes.size() > kMostOut) return false;
  out_ += bytes;
  if (!writing_) write_some();
  return true;
}

void Channel::write_some() {
  while (!stopped_ && written_ < out_.size()) {
    const ssize_t n = ::send(socket_.native_handle(), out_.data() + written_,
                             out_.size() - written_, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      writing_ = true;
      socket_.async_wait(boost::asio::posix::descriptor_base::wait_write,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           self->writing_ = false;
                           if (!error && !self->stopped_) self->write_some();
                         });
      return;
    }
    if (n < 0) break;  // the reading side sees the end
    written_ += static_cast<std::size_t>(n);
  }
  out_.clear();
  written_ = 0;
}

void Channel::fail(const std::string& why) {
  const auto broken = std::exchange(events_.broken, nullptr);
  stop();
  if (broken) broken(why);
}

}  // namespace runner
