#include "runner/http/mcp_reply.h"

#include <utility>

namespace runner::http {
namespace {

constexpr std::size_t kQuiet = std::size_t{64} * 1024;  // queued above it: no progress is told

// HTML, "Server-sent events". A message is one line.
std::string event_of(const std::string& message) {
  return "event: message\ndata: " + message + "\n\n";
}

}  // namespace

Reply mcp_failure(unsigned status, const boost::json::value& id, const mcp::Failure& failure) {
  return {status, mcp::failure_text(id, failure)};
}

void McpReply::watch(const std::shared_ptr<mcp::Call>& call) {
  call_ = call;
  const auto exchange = exchange_.lock();
  if (exchange && !is_over_) exchange->expect(shared_from_this());
}

bool McpReply::begin_stream() {
  const auto exchange = exchange_.lock();
  if (!exchange || is_over_ || !options_.takes_events) return false;
  if (!std::exchange(is_streaming_, true)) exchange->begin_stream("text/event-stream");
  return true;
}

void McpReply::notify(const std::string& message) {
  // Also without a message: proxies and clients give up on a reply whose head does not come.
  if (!begin_stream() || message.empty()) return;
  const auto exchange = exchange_.lock();
  if (exchange->queued() < kQuiet) exchange->send(event_of(message));
}

void McpReply::answer(const std::string& message, std::optional<mcp::Code> failure) {
  const auto exchange = exchange_.lock();
  if (!exchange || std::exchange(is_over_, true)) return;
  if (is_streaming_) {
    exchange->send(event_of(message));
    return exchange->end_stream();
  }
  // 2026-07-28: a method that is not there is told by the status too.
  const bool is_missing = options_.era == mcp::Era::kStateless && failure == mcp::Code::kNoMethod;
  exchange->reply({is_missing ? 404U : 200U, message, "application/json", options_.headers});
}

void McpReply::drop() {
  const auto exchange = exchange_.lock();
  if (exchange && begin_stream()) exchange->end_stream();
  if (exchange && !is_over_ && !is_streaming_) {
    exchange->reply(mcp_failure(
        200, options_.id, {mcp::Code::kCancelled, "the request was cancelled by the client", {}}));
  }
  is_over_ = true;
}

void McpReply::on_tick() {
  const auto exchange = exchange_.lock();
  if (exchange && is_streaming_ && !is_over_) exchange->send(":\n\n");
}

// Up to 2025-11-25 a client that has gone has not cancelled: it may have lost its connection. From
// 2026-07-28 on, going is how a client cancels.
void McpReply::on_half_closed() {
  if (is_over_ || options_.era == mcp::Era::kHandshake) return;
  if (const auto call = call_.lock()) call->cancel();
}

void McpReply::on_shutdown() {
  answer(mcp::failure_text(options_.id, {mcp::Code::kInternal, "the server is shutting down", {}}),
         mcp::Code::kInternal);
}

}  // namespace runner::http
