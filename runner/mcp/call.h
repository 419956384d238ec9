// One request between its transport and what does it. The event loop's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runner/mcp/revision.h"
#include "runner/service.h"

namespace runner::mcp {

struct Request {
  Era era = Era::kHandshake;
  Tenant tenant;
  json::value id;
  std::string method;
  json::object params;
  std::optional<json::value> progress_token;
};

// Where the messages about one request go. A transport makes one for each.
class Outlet {
 public:
  virtual ~Outlet() = default;
  // The request is still being worked on, and will be for a while: at most once a second. `message`
  // is for the client, unless it is empty.
  virtual void notify(const std::string& message) = 0;
  // Once, and last. `failure`: what a protocol error is called.
  virtual void answer(const std::string& message, std::optional<Code> failure) = 0;
  // Instead of answer(): the request was cancelled, and nothing is said about it any more.
  virtual void drop() = 0;
};

// A request that is being worked on. Letting go of it changes nothing.
class Call {
 public:
  virtual ~Call() = default;
  // Interrupts what runs; the outlet is dropped now. Does nothing once it is answered.
  virtual void cancel() = 0;
};

}  // namespace runner::mcp
