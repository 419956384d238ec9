// MCP over HTTP ("streamable HTTP"): POST /mcp takes one message, and answers with JSON, or with a
// stream where there is progress to tell. Both eras at one path. The event loop's thread.
//
// Clients that begin with `initialize` get an MCP-Session-Id of 128 random bits, since only so the
// ids of their requests mean something to a later cancellation. It opens nothing else: sessions of
// code are the tenant's. There is no stream for GET: the server has nothing to say unasked.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "runner/http/exchange.h"
#include "runner/mcp/desk.h"
#include "runner/mcp/peer.h"

namespace runner::http {

class McpDoor {
 public:
  static constexpr std::size_t kMostPeers = 256;  // of one tenant; the longest unused one goes

  // Loop and service outlive this.
  McpDoor(boost::asio::io_context& loop, Service& service, mcp::Options options)
      : desk_(loop, service, std::move(options)) {}

  // `message` is what request.body was read as.
  void post(const Request& request, tl::expected<mcp::Message, mcp::Unread> message,
            const std::shared_ptr<Exchange>& exchange);
  // DELETE: the peer is forgotten, and what it still runs is interrupted.
  Reply end(const Request& request);

 private:
  struct Known {
    std::shared_ptr<mcp::Peer> peer;
    std::uint64_t used = 0;
  };

  void stateless(const Request& request, mcp::Message message,
                 const std::shared_ptr<Exchange>& exchange);
  void initialize(const Request& request, mcp::Message message,
                  const std::shared_ptr<Exchange>& exchange);
  void handshaken(const Request& request, mcp::Message message,
                  const std::shared_ptr<Exchange>& exchange);
  // Null: `refused` says why.
  std::shared_ptr<mcp::Peer> peer_of(const Request& request, Reply& refused);
  void make_room(const Tenant& tenant);

  mcp::Desk desk_;
  std::map<std::string, Known> peers_;  // by MCP-Session-Id
  std::uint64_t uses_ = 0;
};

}  // namespace runner::http
