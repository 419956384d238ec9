// One execution between the service and a client: events become bytes, a slow client becomes
// pause(), a client that has gone becomes an interrupt if it asked for one. The event loop's
// thread.
#pragma once

#include <memory>
#include <optional>

#include "jail/units.h"
#include "runner/http/exchange.h"
#include "runner/metrics.h"
#include "runner/service.h"
#include "runner/wire/events_json.h"
#include "runner/wire/execute_json.h"
#include "runner/wire/execution_document.h"

namespace runner::http {

class ClientExecution final : public Responder,
                              public std::enable_shared_from_this<ClientExecution> {
 public:
  struct Options {
    std::optional<wire::StreamForm> stream;  // absent: one document at the end
    wire::OnDisconnect on_disconnect = wire::OnDisconnect::kContinue;
    jail::Bytes queue{};  // what may wait for the client, besides one event
  };

  ClientExecution(std::weak_ptr<Exchange> exchange, const Options& options, Metrics& metrics);
  ~ClientExecution() override;
  ClientExecution(const ClientExecution&) = delete;
  ClientExecution& operator=(const ClientExecution&) = delete;
  ClientExecution(ClientExecution&&) = delete;
  ClientExecution& operator=(ClientExecution&&) = delete;

  // For Service::execute(). Holds no reference: whoever lets the execution go hears no more.
  ExecutionSink sink();
  // What execute() answered. A refusal is the reply.
  void start(Answer<std::unique_ptr<ExecutionHandle>> answer);

  void on_drained() override;
  void on_tick() override;
  void on_half_closed() override;
  void on_gone() override;
  void on_shutdown() override;

 private:
  void on_event(const ExecutionEvent& event);
  void finish();

  std::weak_ptr<Exchange> exchange_;
  Options options_;
  Metrics& metrics_;
  std::optional<wire::EventEncoder> encoder_;
  wire::ExecutionDocument document_;
  std::unique_ptr<ExecutionHandle> handle_;
  bool has_begun_ = false;
  bool is_paused_ = false;
  bool is_over_ = false;
};

}  // namespace runner::http
