// A server on a free loopback port with the fake service behind it, on a thread of its own; and a
// client that writes and reads raw bytes.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "jail/fd.h"
#include "runner/http/server.h"
#include "tests/support/fake_service.h"

namespace http_test {

struct Response {
  int status = 0;  // 0: the connection ended before a whole reply came
  std::string reason;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string head;                            // as it came
  std::string body;
  [[nodiscard]] boost::json::value json() const { return boost::json::parse(body); }
  [[nodiscard]] std::string message() const;  // of an error
};

// One connection. Every wait ends after ten seconds.
class Client {
 public:
  explicit Client(const runner::http::Address& address);

  void send(std::string_view bytes);
  // False: the server takes no more within 100 ms, or has closed.
  bool try_send(std::string_view bytes);
  void half_close();
  void reset();  // closes with an RST
  void shrink_receive_buffer();

  Response read_response(std::string_view method = "GET");
  std::string read_some(std::size_t most = 65536);  // empty: closed
  std::string read_until(std::string_view mark);
  std::string read_to_end();

  // With Host, and Content-Length where there is a body.
  Response call(const std::string& method, const std::string& target, const std::string& body = "",
                const std::string& headers = "Content-Type: application/json\r\n");

 private:
  bool fill();

  jail::Fd socket_;
  std::string in_;
};

class ServerUnderTest {
 public:
  using Change = std::function<void(runner::http::ServerOptions&)>;
  explicit ServerUnderTest(const Change& change = {}, const std::string& listen = "127.0.0.1:0");
  ~ServerUnderTest();
  ServerUnderTest(const ServerUnderTest&) = delete;
  ServerUnderTest& operator=(const ServerUnderTest&) = delete;
  ServerUnderTest(ServerUnderTest&&) = delete;
  ServerUnderTest& operator=(ServerUnderTest&&) = delete;

  [[nodiscard]] Client client() const { return Client(address_); }
  [[nodiscard]] const runner::http::Address& address() const { return address_; }
  // Runs on the loop's thread; waits for it.
  void on_loop(const std::function<void()>& what);
  template <class T>
  T ask(const std::function<T()>& what) {
    T value{};
    on_loop([&] { value = what(); });
    return value;
  }
  // Waits until the predicate holds, ten seconds at most.
  bool eventually(const std::function<bool()>& predicate);
  void stop();  // gracefully; waits for the end

  boost::asio::io_context loop{1};
  support::FakeService service{loop};
  runner::Metrics metrics;

 private:
  std::unique_ptr<runner::http::Server> server_;
  runner::http::Address address_;
  std::thread thread_;
};

// A container's id.
std::string make_container(Client& client, const std::string& headers = "");

// What is wrong with `value` by the API's own description, as text; empty: nothing. A member that
// the schema does not name is wrong.
std::string mismatch(const boost::json::value& value, const std::string& schema);

}  // namespace http_test
