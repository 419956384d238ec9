// The pipe: lines in, lines out, and the end. Over real pipes, with a service without jails.
#include "runner/mcp/stdio.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <thread>

#include "jail/fd.h"
#include "tests/support/fake_service.h"

namespace json = boost::json;

namespace {

constexpr std::chrono::minutes kPatience{1};  // a busy machine, with checks compiled in

// Both ends in one thread: what is written fits into the pipe, or is written from another thread.
class Piped {
 public:
  explicit Piped(jail::Bytes most_line = jail::mib(1),
                 jail::Millis ending = runner::mcp::StdioOptions().ending) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    REQUIRE(::pipe2(in.data(), O_CLOEXEC) == 0);
    REQUIRE(::pipe2(out.data(), O_CLOEXEC) == 0);
    theirs_in_ = jail::Fd(in[0]);
    in_ = jail::Fd(in[1]);
    out_ = jail::Fd(out[0]);
    theirs_out_ = jail::Fd(out[1]);
    ::fcntl(out_.get(), F_SETFL, O_NONBLOCK);
    runner::mcp::StdioOptions options;
    options.in = theirs_in_.get();
    options.out = theirs_out_.get();
    options.most_line = most_line;
    options.ending = ending;
    stdio_ = std::make_shared<runner::mcp::Stdio>(loop, desk, options, [this] { ended = true; });
    stdio_->start();
  }

  void write(const std::string& text) const {
    REQUIRE(::write(in_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  // Runs the loop until that many lines are there, or it has ended; a minute at most.
  bool reads(std::size_t lines) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (count() < lines && std::chrono::steady_clock::now() < end) step();
    return count() >= lines;
  }
  bool ends() {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!ended && std::chrono::steady_clock::now() < end) step();
    step();
    return ended;
  }
  // The answer is written a turn before its call is over.
  bool comes_to_run(std::size_t calls) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (desk.running() != calls && std::chrono::steady_clock::now() < end) step();
    return desk.running() == calls;
  }
  void close_input() { in_.reset(); }
  void close_output() { out_.reset(); }
  [[nodiscard]] json::value line(std::size_t index) const {
    std::size_t from = 0;
    for (; index > 0; --index) from = got.find('\n', from) + 1;
    return json::parse(got.substr(from, got.find('\n', from) - from));
  }

  boost::asio::io_context loop{1};
  support::FakeService service{loop};
  runner::mcp::Desk desk{loop, service, {}};
  std::string got;
  bool ended = false;

 private:
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::count(got.begin(), got.end(), '\n'));
  }
  void step() {
    loop.restart();
    loop.run_for(std::chrono::milliseconds(2));
    std::array<char, 65536> buffer;
    while (out_.valid()) {
      const ssize_t n = ::read(out_.get(), buffer.data(), buffer.size());
      if (n <= 0) break;
      got.append(buffer.data(), static_cast<std::size_t>(n));
    }
  }

  jail::Fd theirs_in_;
  jail::Fd theirs_out_;
  jail::Fd in_;
  jail::Fd out_;
  std::shared_ptr<runner::mcp::Stdio> stdio_;
};

const std::string kPing = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
const std::string kInitialize =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})"
    "\n";

std::string execute(int id, const std::string& code) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":")" + code +
         "\"}}}\n";
}

}  // namespace

TEST_CASE("lines, whole or in pieces, of either ending") {
  Piped pipe;
  pipe.write(kPing + "\r\n\n" + kPing.substr(0, 10));
  REQUIRE(pipe.reads(1));
  CHECK(pipe.got == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
  pipe.write(kPing.substr(10) + "\n{oops\n" + kPing + "\n");
  REQUIRE(pipe.reads(4));
  CHECK(pipe.line(2).at("error").at("code") == -32700);
  CHECK(pipe.line(3).at("id") == 1);
  CHECK_FALSE(pipe.ended);
}

TEST_CASE("a line that is too long is refused once, and skipped") {
  Piped pipe(jail::Bytes{1000});
  pipe.write(std::string(5000, 'x'));
  REQUIRE(pipe.reads(1));
  pipe.write(std::string(5000, 'y') + "\n" + kPing + "\n");
  REQUIRE(pipe.reads(2));
  CHECK(pipe.line(0).at("error").at("code") == -32600);
  CHECK(pipe.line(0).at("error").at("message") ==
        "a message may be 1000 bytes long; this one was left out");
  CHECK(pipe.line(1).at("id") == 1);
}

TEST_CASE("the end of the input interrupts what runs, and ends") {
  Piped pipe;
  pipe.write(kInitialize + execute(1, "hang") + execute(2, "print a"));
  REQUIRE(pipe.reads(2));
  CHECK(pipe.line(1).at("id") == 2);
  CHECK(pipe.comes_to_run(1));
  // No line end: it is answered all the same.
  pipe.write(R"({"jsonrpc":"2.0","id":3,"method":"ping"})");
  pipe.close_input();
  CHECK(pipe.ends());
  CHECK(pipe.service.interrupts == 1);
  CHECK(pipe.desk.running() == 0);
  CHECK(pipe.reads(3));
  CHECK(pipe.line(2).at("result") == json::object());
}

TEST_CASE("the end of the input does not wait for a session that is being made") {
  Piped pipe(jail::mib(1), 2 * kPatience);
  pipe.service.makes_none = true;
  pipe.write(kInitialize + execute(1, "print a"));
  REQUIRE(pipe.reads(1));
  CHECK(pipe.comes_to_run(1));
  pipe.close_input();
  CHECK(pipe.ends());
  CHECK(pipe.desk.running() == 0);
}

TEST_CASE("nobody reads the output any more: it ends") {
  Piped pipe;
  pipe.write(kInitialize + execute(1, "hang"));
  REQUIRE(pipe.reads(1));
  const bool ignored = std::signal(SIGPIPE, SIG_IGN) != SIG_ERR;
  REQUIRE(ignored);
  pipe.close_output();
  pipe.write(kPing + "\n");
  CHECK(pipe.ends());
  CHECK(pipe.service.interrupts == 1);
}

TEST_CASE("a client that does not read is not read from, and nothing is lost") {
  Piped pipe;
  std::string many = kInitialize;
  for (int id = 1; id <= 40; ++id) many += execute(id, "flood 1");  // 128K of answer each, or more
  std::jthread writer([&] { pipe.write(many); });
  for (int i = 0; i < 50; ++i) {
    pipe.loop.restart();
    pipe.loop.run_for(std::chrono::milliseconds(2));
  }
  REQUIRE(pipe.reads(41));
  writer.join();
  CHECK(pipe.line(40).at("result").at("structuredContent").at("truncated").at("stdout") == true);
}
