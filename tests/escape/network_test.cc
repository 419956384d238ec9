// Sockets: of the host, of other families, of the jail's own.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "jail/fd.h"
#include "tests/e2e/e2e.h"
#include "tests/escape/attack.h"

using escape::Attack;
using escape::Control;

namespace {

constexpr const char* kProgram = "attacks_on_host";

jail::Fd listening(int domain, const sockaddr* address, socklen_t size) {
  jail::Fd fd(::socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(fd.get(), address, size) == 0);
  REQUIRE(::listen(fd.get(), 64) == 0);
  return fd;
}

struct TcpListener {
  jail::Fd fd;
  std::string port;

  TcpListener() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd = listening(AF_INET, reinterpret_cast<const sockaddr*>(&at), sizeof at);
    socklen_t size = sizeof at;
    REQUIRE(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port = std::to_string(ntohs(at.sin_port));
  }
};

jail::Fd unix_listener(const std::string& name) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::strncpy(at.sun_path, name.c_str(), sizeof at.sun_path - 1);
  if (name[0] == '@') at.sun_path[0] = '\0';
  return listening(AF_UNIX, reinterpret_cast<const sockaddr*>(&at),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size()));
}

std::vector<std::string> socket_of(int domain, int type, int protocol) {
  return {"socket", std::to_string(domain), std::to_string(type), std::to_string(protocol)};
}

}  // namespace

TEST_CASE("listeners of the host cannot be reached") {
  const support::TempDir folder;
  const TcpListener tcp;
  const std::string abstract = "@sandglass-escape-" + std::to_string(::getpid());
  const jail::Fd hidden = unix_listener(abstract);
  const jail::Fd named = unix_listener(folder / "s");
  const Attack attacks[] = {
      {{"connect_tcp", tcp.port}, "socket", "denied", "denied", "ECONNREFUSED", Control::kBare},
      {{"connect_unix", abstract},
       "socket",
       "denied",
       "ECONNREFUSED",
       "ECONNREFUSED",
       Control::kBare},
      {{"connect_unix", folder / "s"}, "socket", "denied", "ENOENT", "ENOENT", Control::kBare}};
  escape::check(kProgram, attacks);
}

TEST_CASE("an abstract name of one jail means nothing in another") {
  e2e::require_jails();
  const std::string listen =
      "import socket, time\ns = socket.socket(socket.AF_UNIX); s.bind('\\0shared'); s.listen()\n"
      "print('ready', flush=True); time.sleep(20)\n";
  const std::string connect =
      "import socket\ns = socket.socket(socket.AF_UNIX)\n"
      "try: s.connect('\\0shared'); print('reached')\nexcept OSError as error: "
      "print(error.errno)\n";
  for (const char* policy : {"standard", "loose"}) {
    support::Child first({.args = {"run", "--policy", policy, "-c", listen}});
    REQUIRE(first.says("ready"));
    const support::Ran ran =
        support::run_binary({.args = {"run", "--policy", policy, "-c", connect}});
    CHECK(ran.out == "111\n");
    first.signal(SIGINT);
    CHECK(first.finish().code == 130);
  }
  // The control: in one jail it is reached.
  const std::string both = "import os, time\nif os.fork() == 0:\n    exec(r'''" + listen +
                           "''')\ntime.sleep(0.5)\n" + connect;
  CHECK(e2e::contains(e2e::run({"run", "-c", both}).out, "reached\n"));
}

TEST_CASE("families and kinds of sockets") {
  const Attack attacks[] = {
      {socket_of(AF_UNIX, SOCK_STREAM, 0), "socket", "denied", "REACHED", "REACHED",
       Control::kBare},
      {socket_of(AF_INET, SOCK_STREAM, 0), "socket", "denied", "denied", "REACHED", Control::kBare},
      {socket_of(AF_INET6, SOCK_DGRAM, 0), "socket", "denied", "denied", "REACHED",
       Control::kKernel},
      {socket_of(AF_INET, SOCK_RAW, IPPROTO_ICMP), "socket", "denied", "denied", "denied",
       Control::kInside},
      {socket_of(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), "socket", "denied", "denied", "denied",
       Control::kListed},
      {socket_of(AF_INET, SOCK_STREAM, 262), "socket", "denied", "denied", "denied",
       Control::kKernel},  // MPTCP
      {socket_of(AF_INET, SOCK_STREAM, 132), "socket", "denied", "denied", "denied",
       Control::kKernel},  // SCTP
      {socket_of(AF_PACKET, SOCK_RAW, 0), "socket", "denied", "denied", "denied", Control::kInside},
      {socket_of(AF_NETLINK, SOCK_RAW, 0), "socket", "denied", "denied", "REACHED",
       Control::kBare},  // routes: of one's own network only
      {socket_of(AF_NETLINK, SOCK_RAW, 9), "socket", "denied", "denied", "denied",
       Control::kKernel},  // audit
      {socket_of(AF_NETLINK, SOCK_RAW, 12), "socket", "denied", "denied", "denied",
       Control::kKernel},  // netfilter
      {socket_of(AF_NETLINK, SOCK_RAW, 15), "socket", "denied", "denied", "denied",
       Control::kBare},  // uevents
      {socket_of(38, SOCK_SEQPACKET, 0), "socket", "denied", "denied", "denied",
       Control::kKernel},  // AF_ALG
      {socket_of(40, SOCK_STREAM, 0), "socket", "denied", "denied", "denied",
       Control::kKernel},  // AF_VSOCK
      {socket_of(31, SOCK_RAW, 1), "socket", "denied", "denied", "denied",
       Control::kListed},  // Bluetooth
      {socket_of(44, SOCK_RAW, 0), "socket", "denied", "denied", "denied",
       Control::kListed},  // AF_XDP
      // The kernel reads 32 bits of the family; a filter that reads 64 must not be fooled.
      {{"socket_high"}, "socket", "denied", "denied", "denied", Control::kBare}};
  escape::check(kProgram, attacks);
}

TEST_CASE("no way out of a network of one's own") {
  e2e::require_jails();
  const e2e::Ran ran = e2e::run({"run", "--policy", "loose", "-c",
                                 "import socket\n"
                                 "for a in '192.0.2.1', '169.254.169.254', '10.0.0.1':\n"
                                 "    s = socket.socket(); s.settimeout(2)\n"
                                 "    try: s.connect((a, 80)); print('reached')\n"
                                 "    except OSError as error: print(error.errno)\n"
                                 "print(sorted(name for _, name in socket.if_nameindex()))\n"});
  CHECK(ran.out == "101\n101\n101\n['lo']\n");
}
