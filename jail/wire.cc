// May be called after fork: no allocation, no lock.
#include "jail/wire.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace jail {
namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(int) * kMaxFds);

void take_fds(msghdr& message, Received& out) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < n; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      if (out.fd_count < out.fds.size())
        out.fds[out.fd_count++].reset(fd);
      else
        Fd(fd).reset();
    }
  }
}

}  // namespace

Result<void> send_packet(int socket, std::span<const std::byte> data, std::span<const int> fds) {
  if (fds.size() > kMaxFds) return fail(Step::kProtocol, E2BIG);
  iovec iov{const_cast<std::byte*>(data.data()), data.size()};
  alignas(cmsghdr) std::array<char, kControlBytes> control;
  msghdr message{};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    std::memset(control.data(), 0, CMSG_SPACE(fds.size_bytes()));
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(c), fds.data(), fds.size_bytes());
  }
  ssize_t n = -1;
  do {
    n = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return fail(Step::kProtocol, errno);
  return {};
}

Result<void> receive_packet(int socket, std::span<std::byte> room, Received& out, Wait wait) {
  out.size = 0;
  for (std::size_t i = 0; i < out.fd_count; ++i) out.fds[i].reset();
  out.fd_count = 0;
  iovec iov{room.data(), room.size()};
  alignas(cmsghdr) std::array<char, kControlBytes> control;
  msghdr message{};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t n = -1;
  do {
    n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (wait == Wait::kNo ? MSG_DONTWAIT : 0));
  } while (n < 0 && errno == EINTR);
  if (n < 0) return fail(Step::kProtocol, errno);
  take_fds(message, out);
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    for (std::size_t i = 0; i < out.fd_count; ++i) out.fds[i].reset();
    out.fd_count = 0;
    return fail(Step::kProtocol, EMSGSIZE);
  }
  out.size = static_cast<std::size_t>(n);
  return {};
}

}  // namespace jail
