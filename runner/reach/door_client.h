// A plain HTTP client that can also say what no client should. Blocking; each exchange has a
// deadline. One thread.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "jail/fd.h"
#include "runner/error.h"

namespace runner::reach {

struct Reply {
  int status = 0;                              // 0: no whole head of a reply came
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // unchunked
  std::string all;                             // as it came, head and whatever followed
  [[nodiscard]] bool is_success() const { return status >= 200 && status < 300; }
};

struct DoorAddress {
  std::string host;  // numeric; empty: a unix socket
  std::uint16_t port = 0;
  std::string path;  // of a unix socket
};

// "http://HOST:PORT" with a numeric host or localhost, or "unix:PATH". kUsage.
Result<DoorAddress> parse_door(const std::string& url);

// What a Host header says of it.
std::string host_header(const DoorAddress& address);

class Connection {
 public:
  // The error is that of connect(2).
  static Result<Connection> open(const DoorAddress& address);

  // As much as the server takes within the deadline; false: not all.
  bool send(std::string_view bytes);
  // Until the server closes, or the deadline, or `most` bytes.
  std::string read_to_end(std::size_t most = std::size_t{64} << 20U);
  // False at the end or the deadline.
  bool read_some(std::string& into);
  void set_deadline(std::chrono::milliseconds from_now);
  // An interrupt leaves what is waited for two more seconds: what the server makes must be known,
  // to be taken away again.
  void see_through() { sees_through_ = true; }
  [[nodiscard]] bool is_late() const { return late_; }  // a wait ended by the deadline
  void reset();                                         // ends it with an RST

 private:
  explicit Connection(jail::Fd socket) : socket_(std::move(socket)) {}
  bool wait(short events);

  jail::Fd socket_;
  std::chrono::steady_clock::time_point deadline_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(15);
  bool late_ = false;
  bool sees_through_ = false;
};

Reply parse_reply(std::string bytes);

}  // namespace runner::reach
