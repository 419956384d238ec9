#include "runner/http/server.h"

#include <sys/un.h>

#include <algorithm>
#include <array>

#include "runner/http/connection.h"
#include "runner/text.h"

namespace runner::http {
namespace {

// Files the rest of the process needs: pipes and pidfds of sessions, the spawner, policies.
constexpr std::uint64_t kReserve = 512;
constexpr std::chrono::milliseconds kAcceptPause{50};
// Of connections that are being refused: they hold descriptors beyond the limit.
constexpr std::size_t kMostRefused = 64;
constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

// Says that there is no room, and reads what the client still sends: RFC 9112 section 9.6, else the
// connection is reset and the client may never see why.
class Farewell : public std::enable_shared_from_this<Farewell> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  Farewell(Socket socket, std::shared_ptr<std::size_t> count)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), count_(std::move(count)) {
    ++*count_;
  }
  ~Farewell() { --*count_; }
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;
  Farewell(Farewell&&) = delete;
  Farewell& operator=(Farewell&&) = delete;

  void say(jail::Millis linger) {
    boost::system::error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.write_some(boost::asio::buffer(kFull), ignored);
    socket_.shutdown(Socket::shutdown_send, ignored);
    timer_.expires_after(linger);
    timer_.async_wait([weak = weak_from_this()](const auto& error) {
      const auto self = weak.lock();
      boost::system::error_code closed;
      if (!error && self) self->socket_.close(closed);
    });
    read();
  }

 private:
  void read() {
    socket_.async_read_some(boost::asio::buffer(room_),
                            [self = shared_from_this()](const auto& error, std::size_t) {
                              if (!error) return self->read();
                              self->timer_.cancel();
                            });
  }

  Socket socket_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<std::size_t> count_;
  std::array<char, 1024> room_{};
};

}  // namespace

Server::Server(Key /*key*/, boost::asio::io_context& loop, std::shared_ptr<Room> room,
               Address address)
    : room_(std::move(room)),
      address_(std::move(address)),
      acceptor_(loop),
      timer_(loop),
      max_connections_(room_->options.max_connections) {}

Server::~Server() {
  room_->on_closed = nullptr;
  abandon_all();
  if (acceptor_.is_open() && address_.kind == Address::Kind::kUnix) {
    (void)::unlink(address_.host.c_str());
  }
}

Result<std::unique_ptr<Server>> Server::listen(boost::asio::io_context& loop, Service& service,
                                               Metrics& metrics, Address address,
                                               ServerOptions options) {
  if (!address.is_loopback && !options.tokens.are_required()) {
    return fail(ErrorKind::kUsage,
                "--listen " + printable(address.text()) +
                    " can be reached from other machines: give --token-file too, or listen on "
                    "127.0.0.1");
  }
  auto socket = listen_on(address);
  if (!socket) return tl::unexpected(socket.error());
  const std::uint64_t files = raise_open_files();
  const std::uint64_t room_for = files > 2 * kReserve ? files - kReserve : files / 2;
  options.max_connections = std::min<std::size_t>(options.max_connections, room_for);
  auto room = std::make_shared<Room>(loop, service, metrics, std::move(options));
  room->checks_origin = address.is_loopback && address.kind == Address::Kind::kTcp;
  auto server = std::make_unique<Server>(Key{}, loop, std::move(room), std::move(address));
  const int family = server->address_.kind == Address::Kind::kUnix          ? AF_UNIX
                     : server->address_.host.find(':') == std::string::npos ? AF_INET
                                                                            : AF_INET6;
  boost::system::error_code error;
  server->acceptor_.assign(boost::asio::generic::stream_protocol(family, 0), socket->get(), error);
  if (error) return fail(ErrorKind::kHost, "cannot listen: " + error.message());
  (void)socket->release();
  server->acceptor_.non_blocking(true, error);
  server->accept();
  return server;
}

void Server::accept() {
  acceptor_.async_accept([this](const auto& error, auto socket) {
    if (error == boost::asio::error::operation_aborted) return;
    if (!error) {
      on_accepted(std::move(socket));
      return accept();
    }
    // accept(2): most errors are the client's; of the others, EMFILE passes when we make room.
    const bool made_room = error == boost::asio::error::no_descriptors && evict_idle();
    if (made_room || error == boost::asio::error::connection_aborted) return accept();
    timer_.expires_after(kAcceptPause);
    timer_.async_wait([this](const auto& aborted) {
      if (!aborted) accept();
    });
  });
}

void Server::on_accepted(boost::asio::generic::stream_protocol::socket socket) {
  if (room_->open.size() >= max_connections_ && !evict_idle()) {
    if (*refused_ < kMostRefused)
      std::make_shared<Farewell>(std::move(socket), refused_)->say(room_->options.timeouts.linger);
    return;  // closes it, where many are being refused already
  }
  std::make_shared<Connection>(std::move(socket), room_)->start();
}

// Idle connections must not keep new ones out: the one idle for longest makes room.
bool Server::evict_idle() {
  const auto idle = std::find_if(room_->open.begin(), room_->open.end(),
                                 [](const auto& connection) { return connection->is_idle(); });
  if (idle == room_->open.end()) return false;
  ++room_->metrics.connections_evicted;
  (*idle)->abandon();
  return true;
}

void Server::stop(std::function<void()> done) {
  on_stopped_ = std::move(done);
  room_->is_stopping = true;
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  if (address_.kind == Address::Kind::kUnix) (void)::unlink(address_.host.c_str());
  room_->on_closed = [this] {
    if (room_->open.empty()) finish();
  };
  const auto open = room_->open;  // they take themselves out of it
  for (const auto& connection : open) connection->stop();
  if (room_->open.empty()) return finish();
  timer_.expires_after(room_->options.timeouts.shutdown);
  timer_.async_wait([this](const auto& aborted) {
    if (aborted) return;
    abandon_all();
  });
}

void Server::abandon_all() {
  const auto open = room_->open;
  for (const auto& connection : open) connection->abandon();
}

void Server::finish() {
  if (!on_stopped_) return;
  room_->on_closed = nullptr;
  timer_.cancel();
  // By way of the loop: the connection that closed last is still in its own call.
  boost::asio::post(acceptor_.get_executor(), std::exchange(on_stopped_, nullptr));
}

}  // namespace runner::http
