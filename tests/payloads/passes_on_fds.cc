// Sends its network and user namespace to whoever holds the other end of stdin, and with "socket" a
// listening one of an abstract name as well; tells whether somebody listens at that name before.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>

#include "report.h"

namespace {

bool send_fds(const int* fds, std::size_t count) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 3)] = {};
  char byte = 'f';
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * count);
  std::memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
  return ::sendmsg(0, &message, 0) == 1;
}

}  // namespace

int main(int count, char**) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, "\0left behind", 12);
  const auto* address = reinterpret_cast<const sockaddr*>(&name);
  constexpr socklen_t size = offsetof(sockaddr_un, sun_path) + 12;
  const int visitor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  payload::say("connect", payload::word(payload::error_of(::connect(visitor, address, size))));
  ::close(visitor);
  const int fds[] = {::open("/proc/self/ns/net", O_RDONLY), ::open("/proc/self/ns/user", O_RDONLY),
                     ::socket(AF_UNIX, SOCK_STREAM, 0)};
  if (::bind(fds[2], address, size) != 0 || ::listen(fds[2], 1) != 0) return 2;
  return send_fds(fds, count > 1 ? 3 : 2) ? 0 : 1;
}
