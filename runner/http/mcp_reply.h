// One MCP request's answer over HTTP: JSON, or a stream of server-sent events once there is
// something to tell before the end. The event loop's thread.
#pragma once

#include <memory>
#include <string>

#include "runner/http/exchange.h"
#include "runner/mcp/call.h"

namespace runner::http {

// A protocol error as a whole reply.
Reply mcp_failure(unsigned status, const boost::json::value& id, const mcp::Failure& failure);

class McpReply final : public mcp::Outlet,
                       public Responder,
                       public std::enable_shared_from_this<McpReply> {
 public:
  struct Options {
    mcp::Era era = mcp::Era::kHandshake;
    bool takes_events = false;                                      // the client reads streams
    boost::json::value id = {};                                     // of the request
    std::vector<std::pair<std::string, std::string>> headers = {};  // of a reply in JSON
  };
  McpReply(std::weak_ptr<Exchange> exchange, Options options)
      : exchange_(std::move(exchange)), options_(std::move(options)) {}

  // What the request became; null: it is answered. From now on a client that has gone is noticed.
  void watch(const std::shared_ptr<mcp::Call>& call);

  void notify(const std::string& message) override;
  void answer(const std::string& message, std::optional<mcp::Code> failure) override;
  void drop() override;

  void on_drained() override {}
  void on_tick() override;
  void on_half_closed() override;
  void on_gone() override { on_half_closed(); }
  void on_shutdown() override;

 private:
  bool begin_stream();

  std::weak_ptr<Exchange> exchange_;
  Options options_;
  std::weak_ptr<mcp::Call> call_;
  bool is_streaming_ = false;
  bool is_over_ = false;
};

}  // namespace runner::http
