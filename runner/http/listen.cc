#include "runner/http/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "runner/text.h"

namespace runner::http {
namespace {

constexpr int kBacklog = 1024;

union AnyAddress {
  sockaddr plain;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_un local;
};

struct Bound {
  AnyAddress address{};
  socklen_t size = 0;
};

tl::unexpected<Error> cannot(const Address& address, int error) {
  std::string text =
      "cannot listen on " + printable(address.text()) + ": " + jail::errno_name(error);
  if (error == EADDRINUSE) text += "; another server is there, or give another --listen";
  return fail(ErrorKind::kHost, text);
}

Result<Bound> socket_address(const Address& address) {
  Bound bound;
  if (address.kind == Address::Kind::kUnix) {
    // unix(7): sun_path holds 108 bytes with its NUL.
    if (address.host.size() >= sizeof(bound.address.local.sun_path)) {
      return fail(ErrorKind::kUsage, "--listen: the socket's path is longer than 107 bytes");
    }
    bound.address.local.sun_family = AF_UNIX;
    std::memcpy(bound.address.local.sun_path, address.host.c_str(), address.host.size() + 1);
    bound.size = sizeof(sockaddr_un);
    return bound;
  }
  if (::inet_pton(AF_INET, address.host.c_str(), &bound.address.v4.sin_addr) == 1) {
    bound.address.v4.sin_family = AF_INET;
    bound.address.v4.sin_port = htons(address.port);
    bound.size = sizeof(sockaddr_in);
    return bound;
  }
  if (::inet_pton(AF_INET6, address.host.c_str(), &bound.address.v6.sin6_addr) == 1) {
    bound.address.v6.sin6_family = AF_INET6;
    bound.address.v6.sin6_port = htons(address.port);
    bound.size = sizeof(sockaddr_in6);
    return bound;
  }
  return fail(ErrorKind::kUsage, "--listen: " + printable(address.host) +
                                     " is no IP address; give one such as 127.0.0.1:8611");
}

// Takes away what a dead server left behind. The errno of why not; 0: the path is free.
int clear_path(const Address& address, const Bound& bound) {
  struct stat status {};
  if (::lstat(address.host.c_str(), &status) != 0) return errno == ENOENT ? 0 : errno;
  if (!S_ISSOCK(status.st_mode)) return EEXIST;
  const jail::Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return errno;
  // unix(7): ECONNREFUSED means that nobody listens. EAGAIN means that somebody does, and is busy.
  if (::connect(probe.get(), &bound.address.plain, bound.size) == 0 || errno != ECONNREFUSED) {
    return EADDRINUSE;
  }
  return ::unlink(address.host.c_str()) == 0 ? 0 : errno;
}

std::uint16_t port_of(const jail::Fd& socket) {
  AnyAddress address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket.get(), &address.plain, &size) != 0) return 0;
  return ntohs(address.plain.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

}  // namespace

std::string Address::text() const {
  if (kind == Kind::kUnix) return "unix:" + host;
  const bool is_v6 = host.find(':') != std::string::npos;
  return "http://" + (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Address> parse_address(const std::string& words) {
  Address address;
  if (words.starts_with("unix:")) {
    address.kind = Address::Kind::kUnix;
    address.host = words.substr(5);
    if (address.host.empty()) return fail(ErrorKind::kUsage, "--listen unix: what path?");
    return address;
  }
  const std::size_t colon = words.rfind(':');
  const auto wrong = fail(ErrorKind::kUsage, "--listen " + printable(words) +
                                                 ": write ADDRESS:PORT or unix:PATH, such as "
                                                 "127.0.0.1:8611");
  if (colon == std::string::npos) return wrong;
  const char* const end = words.data() + words.size();
  const auto read = std::from_chars(words.data() + colon + 1, end, address.port);
  if (read.ec != std::errc{} || read.ptr != end) return wrong;
  address.host = words.substr(0, colon);
  if (address.host == "localhost") address.host = "127.0.0.1";
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  const auto bound = socket_address(address);
  if (!bound) return tl::unexpected(bound.error());
  const in_addr v4 = bound->address.v4.sin_addr;
  address.is_loopback = bound->address.plain.sa_family == AF_INET
                            ? (ntohl(v4.s_addr) >> 24U) == 127U
                            : IN6_IS_ADDR_LOOPBACK(&bound->address.v6.sin6_addr) != 0;
  return address;
}

Result<jail::Fd> listen_on(Address& address) {
  const auto bound = socket_address(address);
  if (!bound) return tl::unexpected(bound.error());
  const bool is_unix = address.kind == Address::Kind::kUnix;
  if (is_unix) {
    if (const int error = clear_path(address, *bound)) return cannot(address, error);
  }
  jail::Fd socket(
      ::socket(bound->address.plain.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return cannot(address, errno);
  const int on = 1;
  if (!is_unix) {
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Inherited by what is accepted: a reply is one write, and must not wait for an ACK.
    (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  // unix(7): the file's mode is 0777 less the umask; changing it afterwards would leave a gap.
  const mode_t before = is_unix ? ::umask(0177) : 0;
  const int bind_error = ::bind(socket.get(), &bound->address.plain, bound->size) == 0 ? 0 : errno;
  if (is_unix) ::umask(before);
  if (bind_error != 0) return cannot(address, bind_error);
  if (::listen(socket.get(), kBacklog) != 0) return cannot(address, errno);
  if (!is_unix) address.port = port_of(socket);
  return socket;
}

std::uint64_t raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlimit wanted{limit.rlim_max, limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &wanted) == 0) limit = wanted;
  return limit.rlim_cur;
}

}  // namespace runner::http
