// A request that has been read whole, and how it is answered. Handlers know these and no socket.
// The event loop's thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/http/multipart.h"
#include "runner/http/routes.h"
#include "runner/service.h"
#include "runner/wire/containers_json.h"
#include "runner/wire/errors_json.h"

namespace runner::http {

struct Request {
  Action action = Action::kHealth;
  std::vector<std::string> ids;  // of the path
  std::vector<wire::QueryItem> query;
  Tenant tenant;
  std::string content_type;
  std::string accept;
  std::string file_name;                   // X-Filename, as sent
  std::string disposition;                 // Content-Disposition, as sent
  std::map<std::string, std::string> mcp;  // the headers that begin with "mcp-"
  std::string body;
  std::optional<Multipart> multipart;  // instead of `body`
};

struct Reply {
  unsigned status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

Reply error_reply(const wire::ErrorBody& error);
Reply refusal_reply(const Refusal& refusal);

// Who fills a reply bit by bit, or a reply that is long in coming. Told by the connection.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void on_drained() = 0;      // what was queued is under half the limit again
  virtual void on_tick() = 0;         // no byte has been sent for a keep-alive interval
  virtual void on_half_closed() = 0;  // the client will send no more; it may still be reading
  virtual void on_gone() = 0;         // nobody reads any more
  virtual void on_shutdown() = 0;     // the server stops: say so and end
};

// One request's answer: either reply(), or begin_stream(), send() ..., end_stream(). Once the
// connection is gone all of them do nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void reply(Reply reply) = 0;
  // The connection holds the responder until the answer is sent or the client is gone.
  virtual void expect(std::shared_ptr<Responder> responder) = 0;
  virtual void begin_stream(const char* content_type) = 0;
  virtual void send(std::string_view bytes) = 0;
  virtual void end_stream() = 0;
  [[nodiscard]] virtual std::size_t queued() const = 0;  // bytes that wait for the client
};

}  // namespace runner::http
