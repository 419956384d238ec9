#include "tests/http/server_under_test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <future>
#include <stdexcept>

namespace http_test {
namespace {

constexpr int kPatience = 10'000;

bool wait_for(int socket, short events, int timeout) {
  pollfd one{socket, events, 0};
  return ::poll(&one, 1, timeout) == 1;
}

}  // namespace

std::string Response::message() const {
  return std::string(json().at("error").at("message").as_string());
}

Client::Client(const runner::http::Address& address) {
  const bool is_unix = address.kind == runner::http::Address::Kind::kUnix;
  socket_.reset(::socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in tcp{};
  tcp.sin_family = AF_INET;
  tcp.sin_port = htons(address.port);
  tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  std::strncpy(local.sun_path, address.host.c_str(), sizeof(local.sun_path) - 1);
  const void* raw = is_unix ? static_cast<const void*>(&local) : &tcp;
  const socklen_t size = is_unix ? sizeof local : sizeof tcp;
  if (::connect(socket_.get(), static_cast<const sockaddr*>(raw), size) != 0) {
    throw std::runtime_error("connect: " + std::string(std::strerror(errno)));
  }
}

void Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the server has said enough
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool Client::try_send(std::string_view bytes) {
  if (!wait_for(socket_.get(), POLLOUT, 100)) return false;
  return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

void Client::half_close() { ::shutdown(socket_.get(), SHUT_WR); }

void Client::reset() {
  const linger now{1, 0};
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  socket_.reset();
}

void Client::shrink_receive_buffer() {
  const int size = 4096;
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

bool Client::fill() {
  char buffer[65536];
  if (!wait_for(socket_.get(), POLLIN, kPatience)) throw std::runtime_error("no answer in 10 s");
  const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
  if (got <= 0) return false;
  in_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

std::string Client::read_some(std::size_t most) {
  if (in_.empty()) fill();
  std::string some = in_.substr(0, most);
  in_.erase(0, some.size());
  return some;
}

std::string Client::read_until(std::string_view mark) {
  while (in_.find(mark) == std::string::npos) {
    if (!fill()) return std::exchange(in_, {});
  }
  const std::size_t end = in_.find(mark) + mark.size();
  std::string text = in_.substr(0, end);
  in_.erase(0, end);
  return text;
}

std::string Client::read_to_end() {
  while (fill()) {
  }
  return std::exchange(in_, {});
}

Response Client::read_response(std::string_view method) {
  Response response;
  response.head = read_until("\r\n\r\n");
  if (!response.head.starts_with("HTTP/1.")) return response;
  std::size_t from = response.head.find("\r\n") + 2;
  while (from + 2 < response.head.size()) {
    const std::size_t end = response.head.find("\r\n", from);
    const std::string line = response.head.substr(from, end - from);
    std::string name = line.substr(0, line.find(':'));
    std::transform(name.begin(), name.end(), name.begin(), [](char c) { return std::tolower(c); });
    response.headers[name] = line.substr(line.find(':') + 2);
    from = end + 2;
  }
  const int status = std::stoi(response.head.substr(9, 3));
  if (status == 100) return read_response(method);
  if (method != "HEAD" && response.headers.contains("content-length")) {
    const std::size_t size = std::stoull(response.headers["content-length"]);
    while (in_.size() < size && fill()) {
    }
    response.body = in_.substr(0, size);
    in_.erase(0, size);
  }
  while (response.headers.contains("transfer-encoding")) {
    const std::size_t size = std::stoull(read_until("\r\n"), nullptr, 16);
    while (in_.size() < size + 2 && fill()) {
    }
    response.body += in_.substr(0, size);
    in_.erase(0, size + 2);
    if (size == 0) break;
  }
  response.status = status;
  return response;
}

Response Client::call(const std::string& method, const std::string& target, const std::string& body,
                      const std::string& headers) {
  std::string request = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers;
  if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  send(request + "\r\n" + body);
  return read_response(method);
}

ServerUnderTest::ServerUnderTest(const Change& change, const std::string& listen) {
  runner::http::ServerOptions options;
  options.policies_json = R"({"object":"list","data":[]})";
  options.capabilities.version = "1.2.3";
  if (change) change(options);
  const auto address = runner::http::parse_address(listen);
  auto server = runner::http::Server::listen(loop, service, metrics, *address, std::move(options));
  if (!server) throw std::runtime_error(server.error().text);
  server_ = std::move(*server);
  address_ = server_->address();
  thread_ = std::thread([this] {
    const auto work = boost::asio::make_work_guard(loop);
    loop.run();
  });
}

ServerUnderTest::~ServerUnderTest() { stop(); }

void ServerUnderTest::stop() {
  if (!server_) return;
  boost::asio::post(loop, [this] { server_->stop([this] { loop.stop(); }); });
  thread_.join();
  server_.reset();
}

void ServerUnderTest::on_loop(const std::function<void()>& what) {
  std::promise<void> done;
  boost::asio::post(loop, [&] {
    what();
    done.set_value();
  });
  done.get_future().wait();
}

bool ServerUnderTest::eventually(const std::function<bool()>& predicate) {
  for (int i = 0; i < 1000; ++i) {
    if (ask<bool>(predicate)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::string make_container(Client& client, const std::string& headers) {
  const Response response = client.call("POST", "/v1/containers", R"({"name":"c"})",
                                        "Content-Type: application/json\r\n" + headers);
  return std::string(response.json().at("id").as_string());
}

}  // namespace http_test
