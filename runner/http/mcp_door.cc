#include "runner/http/mcp_door.h"

#include <algorithm>
#include <utility>

#include "runner/http/mcp_reply.h"
#include "runner/service/file_table.h"
#include "runner/text.h"

namespace runner::http {
namespace {

using mcp::Code;
using mcp::Failure;
using mcp::Message;

constexpr const char* kVersion = "mcp-protocol-version";
constexpr const char* kSession = "mcp-session-id";

std::optional<std::string> header(const Request& request, const char* name) {
  const auto found = request.mcp.find(name);
  if (found == request.mcp.end()) return std::nullopt;
  return found->second;
}

bool takes_events(const Request& request) {
  return request.accept.find("text/event-stream") != std::string::npos;
}

std::string text_member(const Message& message, const char* name) {
  const auto* value = message.params.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

// =?base64?...?= stands for what a header cannot hold.
std::string plain_header(const std::string& value) {
  constexpr std::string_view kBegin = "=?base64?";
  constexpr std::string_view kEnd = "?=";
  if (value.size() < kBegin.size() + kEnd.size() || !value.starts_with(kBegin) ||
      !value.ends_with(kEnd)) {
    return value;
  }
  const std::string_view coded(value.data() + kBegin.size(),
                               value.size() - kBegin.size() - kEnd.size());
  return bytes_from_base64(coded).value_or(value);
}

std::optional<Failure> mismatch(const Request& request, const char* name, const char* shown,
                                const std::string& in_body) {
  const auto value = header(request, name);
  if (!value) return Failure{Code::kHeaderMismatch, std::string("no header ") + shown, {}};
  if (plain_header(*value) == in_body) return std::nullopt;
  return Failure{Code::kHeaderMismatch,
                 std::string("the header ") + shown + " says '" + printable(value->substr(0, 64)) +
                     "', the body '" + printable(in_body.substr(0, 64)) + "'",
                 {}};
}

// 2026-07-28: headers repeat what proxies go by; where they differ from the body, one of the two is
// not what it seems.
std::optional<Failure> wrong_headers(const Request& request, const Message& message,
                                     const mcp::Meta& meta) {
  if (meta.revision) {
    if (auto wrong = mismatch(request, kVersion, "MCP-Protocol-Version", *meta.revision)) {
      return wrong;
    }
  }
  if (auto wrong = mcp::wrong_stateless(meta)) return wrong;
  if (auto wrong = mismatch(request, "mcp-method", "Mcp-Method", message.method)) return wrong;
  const char* const named = message.method == "resources/read" ? "uri" : "name";
  const bool has_name = message.method == "tools/call" || message.method == "resources/read" ||
                        message.method == "prompts/get";
  if (!has_name) return std::nullopt;
  return mismatch(request, "mcp-name", "Mcp-Name", text_member(message, named));
}

Reply accepted() { return {202, "", ""}; }

}  // namespace

void McpDoor::post(const Request& request, tl::expected<Message, mcp::Unread> message,
                   const std::shared_ptr<Exchange>& exchange) {
  if (!message) {
    return exchange->reply(mcp_failure(400, message.error().id, message.error().failure));
  }
  const auto meta = mcp::read_meta(message->params);
  if (!meta) return exchange->reply(mcp_failure(400, message->id, meta.error()));
  const auto version = header(request, kVersion);
  const bool knows_handshake = !version || mcp::is_handshake_revision(*version);
  const bool begins = message->method == "initialize";
  if (meta->revision || (!knows_handshake && !begins)) {
    if (!meta->revision && *version != mcp::kStateless) {
      return exchange->reply(mcp_failure(400, message->id, mcp::unsupported(*version)));
    }
    return stateless(request, std::move(*message), exchange);
  }
  if (begins && message->kind == Message::Kind::kRequest) {
    return initialize(request, std::move(*message), exchange);
  }
  handshaken(request, std::move(*message), exchange);
}

void McpDoor::stateless(const Request& request, Message message,
                        const std::shared_ptr<Exchange>& exchange) {
  if (message.kind == Message::Kind::kNotification) return exchange->reply(accepted());
  if (message.kind == Message::Kind::kResponse) {
    return exchange->reply(
        mcp_failure(400, nullptr, {Code::kInvalidRequest, "no response is waited for", {}}));
  }
  auto meta = mcp::read_meta(message.params);
  if (const auto wrong = wrong_headers(request, message, *meta)) {
    return exchange->reply(mcp_failure(400, message.id, *wrong));
  }
  McpReply::Options options;
  options.era = mcp::Era::kStateless;
  options.takes_events = takes_events(request);
  options.id = message.id;
  const auto reply = std::make_shared<McpReply>(exchange, std::move(options));
  mcp::Request asked;
  asked.era = mcp::Era::kStateless;
  asked.tenant = request.tenant;
  asked.id = std::move(message.id);
  asked.method = std::move(message.method);
  asked.params = std::move(message.params);
  asked.progress_token = std::move(meta->progress_token);
  reply->watch(desk_.begin(std::move(asked), reply));
}

void McpDoor::initialize(const Request& request, Message message,
                         const std::shared_ptr<Exchange>& exchange) {
  if (const auto good = mcp::initialize_result(message.params, desk_.identity()); !good) {
    return exchange->reply(mcp_failure(400, message.id, good.error()));
  }
  make_room(request.tenant);
  const std::string id = new_id("mcp_");
  const auto peer = std::make_shared<mcp::Peer>(desk_, request.tenant, mcp::Peer::Begun::kYes);
  peers_[id] = {peer, ++uses_};
  McpReply::Options options;
  options.id = message.id;
  options.headers = {{"MCP-Session-Id", id}};
  peer->handle(std::move(message), std::make_shared<McpReply>(exchange, std::move(options)));
}

void McpDoor::handshaken(const Request& request, Message message,
                         const std::shared_ptr<Exchange>& exchange) {
  Reply refused;
  const auto peer = peer_of(request, refused);
  if (!peer) return exchange->reply(std::move(refused));
  if (message.kind != Message::Kind::kRequest) {
    peer->handle(std::move(message), nullptr);
    return exchange->reply(accepted());
  }
  McpReply::Options options;
  options.takes_events = takes_events(request);
  options.id = message.id;
  const auto reply = std::make_shared<McpReply>(exchange, std::move(options));
  peer->handle(std::move(message), reply);
  reply->watch(nullptr);
}

std::shared_ptr<mcp::Peer> McpDoor::peer_of(const Request& request, Reply& refused) {
  const auto id = header(request, kSession);
  if (!id) {
    refused = mcp_failure(400, nullptr,
                          {Code::kInvalidRequest,
                           "no header MCP-Session-Id: begin with initialize, or put "
                           "io.modelcontextprotocol/protocolVersion into the request's _meta",
                           {}});
    return nullptr;
  }
  const auto found = peers_.find(*id);
  // Another tenant's does not exist.
  if (found == peers_.end() || found->second.peer->tenant() != request.tenant) {
    refused = mcp_failure(404, nullptr,
                          {Code::kInvalidRequest,
                           "this MCP-Session-Id is not known (any more): initialize again",
                           {}});
    return nullptr;
  }
  found->second.used = ++uses_;
  return found->second.peer;
}

// A client need not say that it goes, and few do.
void McpDoor::make_room(const Tenant& tenant) {
  std::size_t count = 0;
  auto oldest = peers_.end();
  for (auto it = peers_.begin(); it != peers_.end(); ++it) {
    if (it->second.peer->tenant() != tenant) continue;
    ++count;
    if (oldest == peers_.end() || it->second.used < oldest->second.used) oldest = it;
  }
  if (count < kMostPeers) return;
  oldest->second.peer->cancel_all();
  peers_.erase(oldest);
}

Reply McpDoor::end(const Request& request) {
  Reply refused;
  const auto peer = peer_of(request, refused);
  if (!peer) return refused;
  peers_.erase(*header(request, kSession));
  peer->cancel_all();
  return {204, "", ""};
}

}  // namespace runner::http
