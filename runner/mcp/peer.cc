#include "runner/mcp/peer.h"

#include <utility>

namespace runner::mcp {
namespace {

std::string key_of(const json::value& id) { return json::serialize(id); }

}  // namespace

// Forgets the id when the request is answered.
class Peer::Tracked final : public Outlet {
 public:
  Tracked(std::weak_ptr<Peer> peer, std::string key, std::shared_ptr<Outlet> inner)
      : peer_(std::move(peer)), key_(std::move(key)), inner_(std::move(inner)) {}
  void notify(const std::string& message) override { inner_->notify(message); }
  void answer(const std::string& message, std::optional<Code> failure) override {
    forget();
    inner_->answer(message, failure);
  }
  void drop() override {
    forget();
    inner_->drop();
  }

 private:
  void forget() {
    if (const auto peer = peer_.lock()) peer->open_.erase(key_);
  }
  std::weak_ptr<Peer> peer_;
  std::string key_;
  std::shared_ptr<Outlet> inner_;
};

std::optional<Failure> Peer::wrong(const Message& message, const Meta& meta) const {
  if (open_.contains(key_of(message.id))) {
    return Failure{Code::kInvalidRequest, "a request of this id is being worked on", {}};
  }
  if (meta.revision) return wrong_stateless(meta);
  if (has_begun_ || message.method == "initialize" || message.method == "ping") return std::nullopt;
  return Failure{Code::kInvalidRequest,
                 "begin with initialize, or put io.modelcontextprotocol/protocolVersion into each "
                 "request's _meta",
                 {}};
}

void Peer::handle(Message message, const std::shared_ptr<Outlet>& outlet) {
  if (message.kind == Message::Kind::kResponse) return;
  if (message.kind == Message::Kind::kNotification) {
    // What is malformed or comes too late is ignored, as both revisions want it.
    const json::value* const id = message.params.if_contains("requestId");
    if (message.method != "notifications/cancelled" || id == nullptr) return;
    const auto found = open_.find(key_of(*id));
    if (found == open_.end()) return;
    if (const auto call = found->second.lock()) call->cancel();
    return;
  }
  auto meta = read_meta(message.params);
  const auto failure = meta ? wrong(message, *meta) : std::optional(meta.error());
  if (failure) return outlet->answer(failure_text(message.id, *failure), failure->code);
  Request request;
  request.era = meta->revision ? Era::kStateless : Era::kHandshake;
  if (request.era == Era::kHandshake && message.method == "initialize") {
    has_begun_ = has_begun_ || initialize_result(message.params, desk_.identity()).has_value();
  }
  request.tenant = tenant_;
  request.id = message.id;
  request.method = std::move(message.method);
  request.params = std::move(message.params);
  request.progress_token = std::move(meta->progress_token);
  const std::string key = key_of(message.id);
  open_[key];  // before it begins: it may be answered within
  const auto call =
      desk_.begin(std::move(request), std::make_shared<Tracked>(weak_from_this(), key, outlet));
  const auto found = open_.find(key);
  if (call && found != open_.end()) found->second = call;
}

void Peer::cancel_all() {
  const auto open = open_;
  for (const auto& [key, weak] : open) {
    if (const auto call = weak.lock()) call->cancel();
  }
}

}  // namespace runner::mcp
