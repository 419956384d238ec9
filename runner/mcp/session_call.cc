#include "runner/mcp/session_call.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "runner/mcp/content.h"

namespace runner::mcp {
namespace {

// Sessions are 64 a policy; one that is never used again must not be remembered for ever.
constexpr std::size_t kMostUntold = 1000;

}  // namespace

void Shared::tell_later(const std::string& session_id, const std::string& text) {
  if (untold_.size() >= kMostUntold) untold_.erase(untold_.begin());
  untold_[session_id] = text;
}

std::vector<std::string> Shared::untold(const std::string& session_id) {
  const auto found = untold_.extract(session_id);
  if (found.empty()) return {};
  return {found.mapped()};
}

void Shared::answer(const Request& request, Outlet& outlet, json::object result) const {
  complete(result, request.era, identity);
  outlet.answer(result_text(request.id, result), std::nullopt);
}

SessionCall::SessionCall(Shared& shared, Request request, std::shared_ptr<Outlet> outlet,
                         const std::optional<std::string>& session_id)
    : shared_(shared),
      request_(std::move(request)),
      outlet_(std::move(outlet)),
      session_id_(session_id.value_or("")),
      is_new_(!session_id) {}

void SessionCall::start(const std::optional<std::string>& language) {
  shared_.live.insert(shared_from_this());
  if (!is_new_) return go();
  ContainerWish wish;
  wish.name = "mcp";
  wish.language = language;
  shared_.service.create(request_.tenant, wish,
                         [weak = weak_from_this()](const Answer<Container>& made) {
                           if (const auto self = weak.lock()) self->on_created(made);
                         });
}

void SessionCall::on_created(const Answer<Container>& made) {
  if (!made) {
    is_new_ = false;  // there is nothing to take back
    return is_cancelled_ ? retire() : refuse(made.error());
  }
  session_id_ = made->id;
  if (!is_cancelled_) return go();
  remove_own_session();
  retire();
}

void SessionCall::cancel() {
  if (is_over_ || is_cancelled_) return;
  is_cancelled_ = true;
  if (const auto outlet = std::exchange(outlet_, nullptr)) outlet->drop();
  interrupt();
}

void SessionCall::finish(json::object result) {
  if (const auto outlet = std::exchange(outlet_, nullptr)) {
    shared_.answer(request_, *outlet, std::move(result));
  }
  retire();
}

void SessionCall::refuse(const Refusal& refusal) {
  remove_own_session();
  finish(refusal_result(refusal, session_id_));
}

// Nobody has heard of it, so nobody could ever use or close it.
void SessionCall::remove_own_session() {
  if (is_new_ && !session_id_.empty()) (void)shared_.service.remove(request_.tenant, session_id_);
}

// By way of the loop: whoever calls this is one of our own functions.
void SessionCall::retire() {
  is_over_ = true;
  boost::asio::post(shared_.loop, [&shared = shared_, alive = std::weak_ptr(shared_.alive_),
                                   self = shared_from_this()] {
    if (!alive.expired()) shared.live.erase(self);
  });
}

void SessionCall::notify(const std::string& message) {
  if (outlet_) outlet_->notify(message);
}

}  // namespace runner::mcp
