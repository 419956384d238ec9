// A client of the protocol without a transport: says a message, and hears what comes back. The
// service behind it has no jails. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runner/mcp/desk.h"
#include "runner/mcp/peer.h"
#include "tests/support/fake_service.h"

namespace mcp_test {

namespace json = boost::json;

class Conversation {
 public:
  explicit Conversation(runner::mcp::Peer::Begun begun = runner::mcp::Peer::Begun::kYes,
                        jail::Millis progress = jail::Millis{60'000});

  // Hands it in and lets the loop run until nothing is to be done.
  void say(const std::string& text);
  // Until `count` messages have been heard; ten seconds at most.
  bool hears(std::size_t count);

  // The result or error of what is said now; null: no answer came.
  json::value ask(const std::string& text);
  // tools/call; `arguments` is JSON. By the handshake's revision.
  json::value call(const std::string& tool, const std::string& arguments);
  // The id of a new session.
  std::string open_session();

  boost::asio::io_context loop{1};
  support::FakeService service{loop};
  runner::mcp::Desk desk;
  std::shared_ptr<runner::mcp::Peer> peer;
  std::vector<std::string> heard;  // as it came
  std::size_t dropped = 0;

 private:
  int last_id_ = 1000;
};

// The first text block of a tool's result.
std::string text_of(const json::value& result);
std::string string_of(const json::value& value);

// A request of 2026-07-28.
std::string stateless(int id, const std::string& method, const std::string& more = "");

}  // namespace mcp_test
