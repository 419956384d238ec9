// Sockets: of the host, of other families, and what a network namespace shows.
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "runner/reach/helper/say.h"

namespace reach {
namespace {

sockaddr_in at4(const char* address, int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address, &to.sin_addr);
  return to;
}

sockaddr_in6 at6(const char* address, int port) {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET6, address, &to.sin6_addr);
  return to;
}

template <class Address>
Said connect_to(int family, int type, const Address& to, const char* what) {
  const int fd = ::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return blocked(errno, "socket");
  int failed = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
  if (failed == EINPROGRESS) {
    pollfd wait{fd, POLLOUT, 0};
    socklen_t length = sizeof failed;
    failed = ETIMEDOUT;
    if (::poll(&wait, 1, 500) == 1) ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &length);
  }
  shut(fd);
  return failed == 0 ? reached("connected to %s", what) : blocked(failed, "connect to %s", what);
}

int port() { return std::atoi(given("REACH_TCP")); }

Said tcp(const char* address) {
  const sockaddr_in to = at4(address, port());
  return connect_to(AF_INET, SOCK_STREAM, to, address);
}

Said tcp6(const char* address) {
  const sockaddr_in6 to = at6(address, port());
  return connect_to(AF_INET6, SOCK_STREAM, to, address);
}

Said other_addresses() {
  for (const char* address : {"0.0.0.0", "127.1.2.3"})
    if (const Said said = tcp(address); said.reached) return said;
  const Said mapped = tcp6("::ffff:127.0.0.1");
  return mapped.reached ? mapped : tcp6("::1");
}

// A connected datagram socket asks for a route and sends nothing.
Said route(const char* address, int to_port) {
  const sockaddr_in to = at4(address, to_port);
  return connect_to(AF_INET, SOCK_DGRAM, to, address);
}

Said connect_unix(const char* name, int type) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::snprintf(to.sun_path, sizeof to.sun_path, "%s", name);
  if (name[0] == '@') to.sun_path[0] = '\0';
  const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (fd < 0) return blocked(errno, "socket");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(name));
  const Said said = must_work(::connect(fd, reinterpret_cast<const sockaddr*>(&to), size),
                              name[0] == '@' ? "connect to an abstract socket outside"
                                             : "connect to a socket file outside");
  shut(fd);
  return said;
}

Said make(int family, int type, int protocol, const char* what) {
  const int fd = ::socket(family, type | SOCK_CLOEXEC, protocol);
  if (fd < 0) return blocked(errno, "%s", what);
  shut(fd);
  return reached("made %s", what);
}

const char* borrowed_what = "";
int borrowed_family = 0;
int borrowed_protocol = 0;

// Raw sockets need a capability over the network namespace: one of one's own will do.
Said raw(int family, int protocol, const char* what) {
  borrowed_family = family;
  borrowed_protocol = protocol;
  borrowed_what = what;
  return with_borrowed_root(CLONE_NEWNET, [] {
    return make(borrowed_family, SOCK_RAW, borrowed_protocol, borrowed_what);
  });
}

Said listen_tcp() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return blocked(errno, "socket");
  const sockaddr_in any = at4("0.0.0.0", 0);
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
  const Said said = must_work(bound ? ::listen(fd, 1) : -1, "listening on a TCP port");
  shut(fd);
  return said;
}

// Connects with the first data, without connect(2).
Said fast_open() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return blocked(errno, "socket");
  const sockaddr_in to = at4("127.0.0.1", port());
  const long sent = ::sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&to), sizeof to);
  const Said said = must_work(sent, "sendto with MSG_FASTOPEN");
  shut(fd);
  return said;
}

Said interfaces() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return blocked(errno, "socket");
  int others = 0;
  for (int index = 1; index < 200; ++index) {
    ifreq request{};
    request.ifr_ifindex = index;
    if (::ioctl(fd, SIOCGIFNAME, &request) != 0) {
      if (errno == EPERM) return blocked(errno, "ioctl(SIOCGIFNAME)");
      continue;
    }
    others += std::strcmp(request.ifr_name, "lo") == 0 ? 0 : 1;
  }
  shut(fd);
  return others == 0 ? blocked(0, "no interface but lo") : reached("the host's interfaces");
}

Said host_listener_in_proc() {
  const int file = ::open("/proc/net/tcp", O_RDONLY | O_CLOEXEC);
  if (file < 0) return blocked(errno, "open /proc/net/tcp");
  char wanted[16];
  std::snprintf(wanted, sizeof wanted, ":%04X 00000000", static_cast<unsigned>(port()));
  static char text[1 << 16];
  std::size_t have = 0;
  for (ssize_t n = 0;
       have < sizeof text - 1 && (n = ::read(file, text + have, sizeof text - 1 - have)) > 0;)
    have += static_cast<std::size_t>(n);
  shut(file);
  text[have] = '\0';
  if (std::strstr(text, wanted) != nullptr) return reached("sees the host's listeners");
  return blocked(0, "only its own connections");
}

// From one end to the other: what a shared socket would let through.
Said pass_descriptor() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return blocked(errno, "socketpair");
  char byte = 'x';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int passed = 1;
  std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
  const Said said = must_work(::sendmsg(pair[0], &message, MSG_NOSIGNAL), "passing a descriptor");
  shut(pair[0]);
  shut(pair[1]);
  return said;
}

Said high_family() {
  const long fd = call(SYS_socket, AF_INET | (1L << 32), SOCK_STREAM, 0);
  const Said said = must_work(fd, "socket(AF_INET) with bits above the argument's 32");
  if (fd >= 0) shut(static_cast<int>(fd));
  return said;
}

constexpr Entry kEntries[] = {
    {"n01", [] { return tcp("127.0.0.1"); }},
    {"n02", other_addresses},
    {"n03", [] { return route("192.0.2.1", 53); }},
    {"n04", [] { return route("169.254.169.254", 80); }},
    {"n05", [] { return connect_unix(given("REACH_ABSTRACT"), SOCK_STREAM); }},
    {"n06", [] { return connect_unix(given("REACH_SOCKET"), SOCK_STREAM); }},
    {"n07", [] { return connect_unix(given("REACH_LOG"), SOCK_DGRAM); }},
    {"n08", [] { return make(AF_INET, SOCK_STREAM, 0, "a TCP socket"); }},
    {"n09", [] { return make(AF_INET, SOCK_DGRAM, 0, "a UDP socket"); }},
    {"n10", [] { return make(AF_UNIX, SOCK_STREAM, 0, "a local socket"); }},
    {"n11", [] { return make(AF_NETLINK, SOCK_RAW, 0, "a netlink socket for routes"); }},
    {"n12", [] { return make(AF_NETLINK, SOCK_RAW, 15, "a netlink socket for uevents"); }},
    {"n13", [] { return make(AF_NETLINK, SOCK_RAW, 12, "a netlink socket for netfilter"); }},
    {"n14", [] { return raw(AF_INET, IPPROTO_ICMP, "a raw ICMP socket"); }},
    {"n15", [] { return raw(AF_PACKET, 0, "a packet socket"); }},
    {"n16", [] { return raw(44, 0, "an AF_XDP socket"); }},
    {"n17", [] { return make(AF_INET, SOCK_DGRAM, IPPROTO_ICMP, "a ping socket"); }},
    {"n18", [] { return make(38, SOCK_SEQPACKET, 0, "an AF_ALG socket"); }},
    {"n19", [] { return make(40, SOCK_STREAM, 0, "an AF_VSOCK socket"); }},
    {"n20", [] { return make(31, SOCK_RAW, 1, "a Bluetooth socket"); }},
    {"n21", [] { return make(AF_INET, SOCK_STREAM, 262, "an MPTCP socket"); }},
    {"n22", [] { return make(AF_INET, SOCK_STREAM, 132, "an SCTP socket"); }},
    {"n23", listen_tcp},
    {"n24", fast_open},
    {"n25", interfaces},
    {"n26", host_listener_in_proc},
    {"n27", pass_descriptor},
    {"n28", high_family},
};

}  // namespace

Table network_probes() { return {kEntries, sizeof kEntries / sizeof kEntries[0]}; }

}  // namespace reach
