// Frames to and from the driver in a payload: a u32, little-endian, and that many bytes of JSON.
// Whatever comes is user output, since user code shares the driver's process: it is bounded, parsed
// strictly, and trusted in nothing. One event loop, its thread. Held by shared_ptr: pending waits
// keep it alive.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "jail/fd.h"

namespace runner {

class Channel : public std::enable_shared_from_this<Channel> {
 public:
  static constexpr std::size_t kMostIn = std::size_t{16} << 20U;
  static constexpr std::size_t kMostOut = std::size_t{64} << 20U;

  struct Events {
    std::function<void(const boost::json::object& frame)> frame;
    // No frame follows: the other end is gone, or has sent what is none.
    std::function<void(const std::string& why)> broken;
  };

  // `socket`: our end of a stream socket pair.
  Channel(boost::asio::io_context& io, jail::Fd socket);

  void start(Events events);
  // Events end here and now.
  void stop();
  // Nothing is read until resume().
  void pause() { paused_ = true; }
  void resume();

  // Queued; written as the driver reads. False: over kMostOut.
  bool send(const std::string& json);
  // Likewise, for a driver that reads no frames (bash).
  bool send_raw(const std::string& bytes);
  // The driver has not yet read all that was sent.
  [[nodiscard]] bool is_writing() const { return writing_; }

 private:
  void wait_to_read();
  void read_some();
  bool take_frames();  // false: stopped or broken meanwhile
  void write_some();
  void fail(const std::string& why);

  boost::asio::posix::stream_descriptor socket_;
  Events events_;
  std::string in_;
  std::string out_;
  std::size_t written_ = 0;
  bool reading_ = false;
  bool writing_ = false;
  bool paused_ = false;
  bool stopped_ = false;
};

}  // namespace runner
