#include "runner/reach/door_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "jail/error.h"
#include "runner/reach/interrupt.h"

namespace runner::reach {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

tl::unexpected<Error> bad_url(const std::string& url) {
  return fail(ErrorKind::kUsage, "\"" + url +
                                     "\" is no address of a server: http://127.0.0.1:8611, "
                                     "http://[::1]:8611 or unix:PATH (plain HTTP, a numeric host)");
}

using Clock = std::chrono::steady_clock;

enum class OnInterrupt : std::uint8_t { kEnd, kGoOn };

// False: by the deadline, or until we are told to end, there was none.
bool wait_for(int fd, short events, Clock::time_point deadline,
              OnInterrupt on_interrupt = OnInterrupt::kEnd) {
  while (on_interrupt == OnInterrupt::kGoOn || !is_interrupted()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    const auto glance = std::clamp(left, std::chrono::milliseconds(0), kGlance);
    pollfd one{fd, events, 0};
    const int n = ::poll(&one, 1, static_cast<int>(glance.count()));
    if (n > 0) return true;
    if (left.count() <= 0 || (n < 0 && errno != EINTR)) return false;
  }
  return false;
}

// The errno of connect(2): a queue of a unix socket that is full says EAGAIN at once.
int connect_error(const jail::Fd& fd, const sockaddr* address, socklen_t size) {
  constexpr std::chrono::seconds kPatience{10};
  if (::connect(fd.get(), address, size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(fd.get(), POLLOUT, Clock::now() + kPatience)) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

Result<jail::Fd> connected(const sockaddr* address, socklen_t size) {
  jail::Fd fd(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return fail(ErrorKind::kHost, "socket: " + jail::errno_name(errno));
  int error = connect_error(fd, address, size);
  for (int i = 0; i < 100 && error == EAGAIN && !is_interrupted(); ++i) {
    (void)::poll(nullptr, 0, 10);
    error = connect_error(fd, address, size);
  }
  if (error == 0) return fd;
  return fail(ErrorKind::kHost, "nobody answers there (" + jail::errno_name(error) +
                                    "); start it with sandglass serve");
}

std::string unchunked(std::string_view body) {
  std::string result;
  while (true) {
    std::size_t size = 0;
    const auto end = body.find("\r\n");
    if (end == std::string_view::npos) return result;
    const auto parsed = std::from_chars(body.data(), body.data() + end, size, 16);
    if (parsed.ec != std::errc() || size == 0 || size > body.size() - end - 2) return result;
    result.append(body.substr(end + 2, size));
    body.remove_prefix(std::min(end + 2 + size + 2, body.size()));
  }
}

}  // namespace

Result<DoorAddress> parse_door(const std::string& url) {
  DoorAddress result;
  if (url.starts_with("unix:")) {
    result.path = url.substr(5);
    if (result.path.empty() || result.path.size() >= sizeof(sockaddr_un::sun_path)) {
      return bad_url(url);
    }
    return result;
  }
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return bad_url(url);
  std::string rest = url.substr(kScheme.size());
  while (rest.ends_with('/')) rest.pop_back();
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string::npos) return bad_url(url);
  const char* end = rest.data() + rest.size();
  const auto parsed = std::from_chars(rest.data() + colon + 1, end, result.port);
  if (parsed.ec != std::errc() || parsed.ptr != end || result.port == 0) return bad_url(url);
  result.host = rest.substr(0, colon);
  if (result.host == "localhost") result.host = "127.0.0.1";
  if (result.host.starts_with('[') && result.host.ends_with(']')) {
    result.host = result.host.substr(1, result.host.size() - 2);
  }
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  if (::inet_pton(AF_INET, result.host.c_str(), bytes.data()) != 1 &&
      ::inet_pton(AF_INET6, result.host.c_str(), bytes.data()) != 1) {
    return bad_url(url);
  }
  return result;
}

std::string host_header(const DoorAddress& address) {
  if (address.host.empty()) return "localhost";
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

Result<Connection> Connection::open(const DoorAddress& address) {
  const auto make = [&]() -> Result<jail::Fd> {
    if (address.host.empty()) {
      sockaddr_un un{};
      un.sun_family = AF_UNIX;
      std::copy(address.path.begin(), address.path.end(), std::begin(un.sun_path));
      return connected(reinterpret_cast<const sockaddr*>(&un), sizeof un);
    }
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    if (::inet_pton(AF_INET, address.host.c_str(), &in.sin_addr) == 1) {
      return connected(reinterpret_cast<const sockaddr*>(&in), sizeof in);
    }
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(address.port);
    (void)::inet_pton(AF_INET6, address.host.c_str(), &in6.sin6_addr);
    return connected(reinterpret_cast<const sockaddr*>(&in6), sizeof in6);
  };
  auto socket = make();
  if (!socket) return tl::unexpected(socket.error());
  return Connection(std::move(*socket));
}

void Connection::set_deadline(std::chrono::milliseconds from_now) {
  deadline_ = std::chrono::steady_clock::now() + from_now;
}

bool Connection::wait(short events) {
  constexpr std::chrono::seconds kGrace{2};
  bool ready = wait_for(socket_.get(), events, deadline_);
  if (!ready && sees_through_ && is_interrupted()) {
    ready = wait_for(socket_.get(), events, std::min(deadline_, Clock::now() + kGrace),
                     OnInterrupt::kGoOn);
  }
  late_ = late_ || !ready;
  return ready;
}

bool Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait(POLLOUT)) return false;
    const ssize_t n =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool Connection::read_some(std::string& into) {
  if (!wait(POLLIN)) return false;
  std::array<char, 65536> buffer{};
  const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) return false;
  into.append(buffer.data(), static_cast<std::size_t>(n));
  return true;
}

std::string Connection::read_to_end(std::size_t most) {
  std::string all;
  while (all.size() < most && read_some(all)) {
  }
  return all;
}

void Connection::reset() {
  const linger hard{1, 0};
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  socket_.reset();
}

Reply parse_reply(std::string bytes) {
  Reply reply;
  reply.all = std::move(bytes);
  const std::size_t end = reply.all.find("\r\n\r\n");
  if (end == std::string::npos || !reply.all.starts_with("HTTP/1.1 ")) return reply;
  (void)std::from_chars(reply.all.data() + 9, reply.all.data() + 12, reply.status);
  const std::string head = reply.all.substr(0, end + 2);
  for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
    const std::size_t stop = head.find("\r\n", at);
    const std::size_t colon = std::min(head.find(':', at), stop);
    const std::size_t value = std::min(head.find_first_not_of(' ', colon + 1), stop);
    reply.headers[lower(head.substr(at, colon - at))] = head.substr(value, stop - value);
    at = stop + 2;
  }
  const std::string_view rest = std::string_view(reply.all).substr(end + 4);
  const bool chunked = reply.headers["transfer-encoding"] == "chunked";
  reply.body = chunked ? unchunked(rest) : std::string(rest);
  return reply;
}

}  // namespace runner::reach
