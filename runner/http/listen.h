// Where the server listens: the words of --listen made into a socket. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "jail/fd.h"
#include "runner/error.h"

namespace runner::http {

struct Address {
  enum class Kind : std::uint8_t { kTcp, kUnix } kind = Kind::kTcp;
  std::string host;  // numeric: "127.0.0.1", "::1"; with kUnix the path
  std::uint16_t port = 0;
  bool is_loopback = true;  // 127.0.0.0/8, ::1 and every unix socket

  // "http://127.0.0.1:8611" or "unix:PATH".
  [[nodiscard]] std::string text() const;
};

// "127.0.0.1:8611", "[::1]:8611", "localhost:8611", "unix:PATH"; port 0: any free one. Other names
// are not looked up. kUsage.
Result<Address> parse_address(const std::string& words);

// A listening, non-blocking socket. A unix socket has mode 0600 from its first moment; a file left
// behind by a dead server is replaced, and never one behind which somebody listens, or that is no
// socket. `address.port` becomes the real one. kHost: in use, no permission.
Result<jail::Fd> listen_on(Address& address);

// Raises the soft limit of open files to the hard one; returns what holds now.
std::uint64_t raise_open_files();

}  // namespace runner::http
