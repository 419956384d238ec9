// What each route does: a request in, calls of the service, an answer out. No sockets.
// The event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "runner/http/exchange.h"
#include "runner/http/mcp_door.h"
#include "runner/http/options.h"
#include "runner/metrics.h"
#include "runner/service.h"
#include "runner/worker.h"

namespace runner::http {

class ClientExecution;

class Handlers {
 public:
  // All of them outlive this.
  Handlers(boost::asio::io_context& loop, Service& service, Metrics& metrics,
           const ServerOptions& options)
      : service_(service),
        metrics_(metrics),
        options_(options),
        mcp_(loop, service, options.mcp),
        worker_(loop) {}

  // Answers now or later. The request may be taken apart.
  void handle(Request& request, const std::shared_ptr<Exchange>& exchange);

 private:
  [[nodiscard]] Reply handle_now(Request& request);
  // `next` gets the request and what its body was read as; a large one is read beside the loop.
  template <class Read, class Next>
  void read_body(Request& request, Read read, Next next);
  void create(const Request& request, const std::shared_ptr<Exchange>& exchange);
  // What tells this client of what it asked for.
  template <class Asked>
  std::shared_ptr<ClientExecution> execution_for(const Asked& asked, const Request& from,
                                                 const std::shared_ptr<Exchange>& exchange);
  void execute(Request& request, const std::shared_ptr<Exchange>& exchange);
  void execute_once(Request& request, const std::shared_ptr<Exchange>& exchange);
  void mcp(Request& request, const std::shared_ptr<Exchange>& exchange);
  [[nodiscard]] Reply list_containers(const Request& request);
  void put_file(Request& request, const std::shared_ptr<Exchange>& exchange);
  void put_content(const Request& request, const std::string& name, std::string content,
                   const std::shared_ptr<Exchange>& exchange);
  void copy_file(const Request& request, const std::string& file_id,
                 const std::shared_ptr<Exchange>& exchange);
  [[nodiscard]] Reply list_files(const Request& request);
  [[nodiscard]] Reply content(const Request& request);
  void trace(const Request& request, const std::shared_ptr<Exchange>& exchange);
  void evaluate(const Request& request, const std::shared_ptr<Exchange>& exchange);
  [[nodiscard]] Reply metrics();

  Service& service_;
  Metrics& metrics_;
  const ServerOptions& options_;
  McpDoor mcp_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  Worker worker_;
};

}  // namespace runner::http
