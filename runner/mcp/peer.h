// One client that began with `initialize`, or that speaks over a pipe: what it has open, by the ids
// it gave. The event loop's thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runner/mcp/call.h"
#include "runner/mcp/desk.h"

namespace runner::mcp {

class Peer : public std::enable_shared_from_this<Peer> {
 public:
  enum class Begun : std::uint8_t { kNot, kYes };
  // The desk outlives the peer.
  Peer(Desk& desk, Tenant tenant, Begun begun)
      : desk_(desk), tenant_(std::move(tenant)), has_begun_(begun == Begun::kYes) {}

  // A notification or a response needs no outlet, and gets none.
  void handle(Message message, const std::shared_ptr<Outlet>& outlet);
  void cancel_all();
  [[nodiscard]] bool is_busy() const { return !open_.empty(); }
  [[nodiscard]] const Tenant& tenant() const { return tenant_; }

 private:
  class Tracked;
  [[nodiscard]] std::optional<Failure> wrong(const Message& message, const Meta& meta) const;

  Desk& desk_;
  Tenant tenant_;
  bool has_begun_;
  std::map<std::string, std::weak_ptr<Call>> open_;
};

}  // namespace runner::mcp
