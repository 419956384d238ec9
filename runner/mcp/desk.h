// Where requests are handed in, whatever transport they came by. The event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "runner/mcp/call.h"
#include "runner/mcp/session_call.h"
#include "runner/service.h"

namespace runner::mcp {

class Desk {
 public:
  // Loop and service outlive the desk. After the desk is gone no outlet is called any more.
  Desk(boost::asio::io_context& loop, Service& service, Options options)
      : shared_(loop, service, std::move(options)) {}

  // `request` is one that a client may send by now: whether it has begun properly is for the
  // transport to know. Null: it has been answered.
  std::shared_ptr<Call> begin(Request request, const std::shared_ptr<Outlet>& outlet);

  [[nodiscard]] const Identity& identity() const { return shared_.identity; }
  // Calls that are worked on. One that was cancelled while its session was being made is none: all
  // that is left is to take back what nobody has heard of.
  [[nodiscard]] std::size_t running() const;
  // Interrupts everything; running() falls to 0 as they end.
  void cancel_all();

 private:
  tl::expected<json::object, Failure> answer_now(const Request& request);
  std::shared_ptr<Call> call_tool(Request request, const std::shared_ptr<Outlet>& outlet);
  void evaluate(const Request& request, const std::shared_ptr<Outlet>& outlet,
                const json::object& arguments);
  json::object call_now(Tool tool, const Request& request, const json::object& arguments);

  Shared shared_;
};

}  // namespace runner::mcp
