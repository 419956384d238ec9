// One interpreter of one session: a payload that joined a jail, its channel and its two output
// pipes. It knows one execution at a time and nothing of clients, files or expiry.
//
// Order: before a frame is handled, what lies in the pipes is passed on, since the driver wrote it
// before the frame. One event loop, its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/client.h"
#include "runner/error.h"
#include "runner/session/channel.h"
#include "runner/session/launcher.h"

namespace runner {

enum class StreamOf : std::uint8_t { kOut, kErr };

class Interpreter final : public LaunchListener {
 public:
  struct Events {
    std::function<void()> ready;
    std::function<void(const boost::json::object& frame)> frame;
    std::function<void(StreamOf stream, std::string_view bytes)> output;
    std::function<void(const jail::Ended& so_far)> usage;
    std::function<void(std::vector<jail::Denied> denied)> denied;
    // The end, once and last: how the payload ended, or why it never came to be or is lost.
    std::function<void(Result<jail::Ended> how)> ended;
  };

  Interpreter(boost::asio::io_context& io, Launcher& launcher);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  Interpreter(Interpreter&&) = delete;
  Interpreter& operator=(Interpreter&&) = delete;

  // `into`: the jail of an interpreter that has ended, 0: a new one. Errors of the start come by
  // `ended`, from the loop.
  // `command`: what is executed, with prototype 0.
  void join(std::uint32_t prototype, const jail::Fd& plan, std::uint64_t into,
            const jail::Fd* command);
  void set_events(Events events) { events_ = std::move(events); }

  bool send(const std::string& json) { return channel_ && channel_->send(json); }
  // A word that is dropped where the driver reads none: it may ask, and ask, and never read.
  void answer(const std::string& json) {
    if (channel_ && !channel_->is_writing()) channel_->send(json);
  }
  bool send_raw(const std::string& bytes) { return channel_ && channel_->send_raw(bytes); }
  // Limits and usage count from here.
  void arm(jail::Millis cpu_time);
  // Answered by the event, never from inside the call.
  void ask_usage();
  // The same, of the spawner itself, which answers in order: an interrupt that was sent has come by
  // then, and meets nothing that begins later.
  void ask_usage_behind() { launcher_.ask_usage(id_); }
  void interrupt() { launcher_.interrupt(id_); }
  void kill() { launcher_.kill(id_); }
  // No output and no frame until resume().
  void pause();
  void resume();

  [[nodiscard]] bool is_ready() const { return ready_; }
  [[nodiscard]] bool is_over() const { return over_; }
  // Of its jail, which outlives it; 0 before there is one.
  [[nodiscard]] std::uint64_t jail_id() const { return id_; }
  [[nodiscard]] const jail::Fd& workdir() const { return workdir_; }
  // Empties the pipes of what lies in them now.
  void drain();

  void on_launched(jail::Launched launched) override;
  void on_denied(std::vector<jail::Denied> denied) override;
  void on_ended(const jail::Ended& ended) override;
  void on_lost(const Error& error) override;
  void on_usage(const jail::Ended& so_far) override;

 private:
  struct Pipe;
  void on_frame(const boost::json::object& frame);
  void lose_voice();
  void wait_for(Pipe& pipe);
  bool read_from(Pipe& pipe, std::size_t most);
  void end(Result<jail::Ended> how);

  boost::asio::io_context& io_;
  Launcher& launcher_;
  Events events_;
  std::uint64_t id_ = 0;
  std::shared_ptr<Channel> channel_;
  std::vector<std::unique_ptr<Pipe>> pipes_;
  jail::Fd workdir_;
  jail::Meter meter_;
  boost::asio::steady_timer silence_;
  bool ready_ = false;
  bool over_ = false;
  bool paused_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace runner
