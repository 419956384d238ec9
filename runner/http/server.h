// The HTTP server: listens, accepts, stops. One event loop, its thread.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "runner/error.h"
#include "runner/http/listen.h"
#include "runner/http/options.h"
#include "runner/metrics.h"
#include "runner/service.h"

namespace runner::http {

struct Room;

class Server {
  struct Key {};  // so that only listen() makes one

 public:
  Server(Key key, boost::asio::io_context& loop, std::shared_ptr<Room> room, Address address);
  // The loop, the service and the metrics outlive the server; the loop runs no handler of ours
  // after stop() has called back. kUsage: an address beyond loopback and no tokens. kHost: cannot
  // listen there.
  static Result<std::unique_ptr<Server>> listen(boost::asio::io_context& loop, Service& service,
                                                Metrics& metrics, Address address,
                                                ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  Server(Server&&) = delete;
  Server& operator=(Server&&) = delete;

  [[nodiscard]] const Address& address() const { return address_; }

  // Accepts no more, closes idle connections, tells streams; calls back once all are closed, at
  // the latest after `timeouts.shutdown`. Once only.
  void stop(std::function<void()> done);

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

  void accept();
  void on_accepted(boost::asio::generic::stream_protocol::socket socket);
  bool evict_idle();
  void abandon_all();
  void finish();

  std::shared_ptr<Room> room_;
  Address address_;
  Acceptor acceptor_;
  boost::asio::steady_timer timer_;
  std::size_t max_connections_;
  std::shared_ptr<std::size_t> refused_ = std::make_shared<std::size_t>(0);
  std::function<void()> on_stopped_;
};

}  // namespace runner::http
