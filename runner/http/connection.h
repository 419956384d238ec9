// One connection: requests in, one after the other, answers out in the same order. While it is
// idle it holds a socket, a timer and no buffer. The event loop's thread; made by Server only.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/http/exchange.h"
#include "runner/http/handlers.h"
#include "runner/http/options.h"
#include "runner/http/outgoing.h"
#include "runner/http/request_reader.h"
#include "runner/metrics.h"

namespace runner::http {

class Connection;

// What the connections of a server share.
struct Room {
  Room(boost::asio::io_context& loop, Service& service_in, Metrics& metrics_in,
       ServerOptions options_in)
      : service(service_in),
        metrics(metrics_in),
        options(std::move(options_in)),
        handlers(loop, service_in, metrics_in, options),
        outgoing(options.reply_memory, options.timeouts.make_room),
        scratch(std::size_t{64} * 1024) {}

  Service& service;
  Metrics& metrics;
  ServerOptions options;
  Handlers handlers;
  Outgoing outgoing;
  bool checks_origin = true;  // on loopback over TCP, where a browser may call
  std::vector<char> scratch;  // what is read is taken out at once
  std::uint64_t body_bytes = 0;
  bool is_stopping = false;
  // Held here until abandon(). Of the idle ones the longest idle stands first.
  std::list<std::shared_ptr<Connection>> open;
  std::function<void()> on_closed;
};

class Connection final : public Exchange, public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  Connection(Socket socket, std::shared_ptr<Room> room);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  Connection(Connection&&) = delete;
  Connection& operator=(Connection&&) = delete;

  void start();
  [[nodiscard]] bool is_idle() const { return phase_ == Phase::kIdle; }
  // The server stops: an idle connection closes, a stream is told, the rest may end.
  void stop();
  void abandon();  // closes at once

  void reply(Reply reply) override;
  void expect(std::shared_ptr<Responder> responder) override;
  void begin_stream(const char* content_type) override;
  void send(std::string_view bytes) override;
  void end_stream() override;
  [[nodiscard]] std::size_t queued() const override { return queue_.size() + writing_.size(); }

 private:
  enum class Phase : std::uint8_t {
    kIdle,       // between requests
    kHeader,     // the first byte is there
    kBody,       //
    kAnswering,  // the handler has it
    kWriting,    // the reply is on its way
    kStreaming,  //
    kLingering,  // we have said all; the client may still be sending
    kClosed,
  };
  using Clock = std::chrono::steady_clock;

  void wait_readable();
  void on_readable();
  void on_end_of_input();
  void advance();
  void on_head();
  std::optional<Reply> admit(Head& head);
  std::optional<Reply> prepare_body(const Head& head, const Route& route);
  bool take_body(std::string_view bytes);
  void on_request();
  void on_broken();

  void write_some();
  void account();
  void claim(std::size_t waits);
  void on_written(std::size_t bytes);
  void on_all_written();
  void next_request();
  void linger();

  void set_deadline(jail::Millis from_now);
  void wait_deadline();
  void on_deadline();
  void to_idle();

  Socket socket_;
  std::shared_ptr<Room> room_;
  boost::asio::steady_timer timer_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point timer_at_ = Clock::time_point::max();
  std::list<std::shared_ptr<Connection>>::iterator place_;

  Phase phase_ = Phase::kIdle;
  std::string in_;  // read and not yet used
  bool is_reading_ = false;
  bool input_ended_ = false;
  std::optional<RequestReader> reader_;
  std::optional<Request> request_;
  std::uint64_t body_held_ = 0;
  Clock::time_point body_began_;
  Clock::time_point request_done_;

  Tenant tenant_;  // of the request that is being answered
  std::shared_ptr<Responder> responder_;
  std::string queue_;
  std::string writing_;
  std::size_t written_ = 0;
  std::optional<Outgoing::Place> share_;  // where what waits is more than a little
  bool is_head_request_ = false;
  bool keep_alive_ = true;
  bool is_chunked_ = true;
  bool stream_ended_ = false;
  int version_ = 11;
};

}  // namespace runner::http
