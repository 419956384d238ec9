// Which interfaces there are, and what can be done with addresses.
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "report.h"

int main() {
  using payload::error_of;
  using payload::say;
  using payload::word;
  const int s = ::socket(AF_INET, SOCK_STREAM, 0);
  for (int i = 1; i < 64; ++i) {
    ifreq request{};
    request.ifr_ifindex = i;
    if (::ioctl(s, SIOCGIFNAME, &request) != 0) continue;
    say("interface", request.ifr_name);
    if (::ioctl(s, SIOCGIFFLAGS, &request) == 0) say("up", (request.ifr_flags & IFF_UP) != 0);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(4711);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  say("bind", word(error_of(::bind(s, reinterpret_cast<sockaddr*>(&address), sizeof(address)))));
  const int c = ::socket(AF_INET, SOCK_STREAM, 0);
  say("connect",
      word(error_of(::connect(c, reinterpret_cast<sockaddr*>(&address), sizeof(address)))));
  address.sin_addr.s_addr = htonl(0x01010101);
  const int d = ::socket(AF_INET, SOCK_DGRAM, 0);
  say("elsewhere",
      word(error_of(::connect(d, reinterpret_cast<sockaddr*>(&address), sizeof(address)))));
}
