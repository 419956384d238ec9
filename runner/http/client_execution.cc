#include "runner/http/client_execution.h"

#include <chrono>

namespace runner::http {
namespace {

std::int64_t wall_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ClientExecution::ClientExecution(std::weak_ptr<Exchange> exchange, const Options& options,
                                 Metrics& metrics)
    : exchange_(std::move(exchange)), options_(options), metrics_(metrics) {
  if (options_.stream) {
    encoder_.emplace(*options_.stream, wall_clock);
    ++metrics_.streams_open;
  }
}

ClientExecution::~ClientExecution() {
  if (encoder_) --metrics_.streams_open;
}

ExecutionSink ClientExecution::sink() {
  return [weak = weak_from_this()](const ExecutionEvent& event) {
    if (const auto self = weak.lock()) self->on_event(event);
  };
}

void ClientExecution::start(Answer<std::unique_ptr<ExecutionHandle>> answer) {
  const auto exchange = exchange_.lock();
  if (!exchange) return;
  if (!answer) return exchange->reply(refusal_reply(answer.error()));
  handle_ = std::move(*answer);
  exchange->expect(shared_from_this());
  if (encoder_) exchange->begin_stream(wire::content_type(*options_.stream));
}

void ClientExecution::on_event(const ExecutionEvent& event) {
  const auto exchange = exchange_.lock();
  if (!exchange || is_over_) return;
  const bool is_last = std::holds_alternative<Finished>(event);
  has_begun_ = has_begun_ || std::holds_alternative<Begun>(event);
  if (encoder_) {
    const std::string bytes = encoder_->encode(event);
    if (!bytes.empty()) exchange->send(bytes);
    if (!is_last && !is_paused_ && handle_ && exchange->queued() >= options_.queue.value) {
      is_paused_ = true;
      handle_->pause();
    }
  } else {
    document_.add(event);
  }
  if (is_last) finish();
}

void ClientExecution::finish() {
  is_over_ = true;
  const auto exchange = exchange_.lock();
  if (!exchange) return;
  if (encoder_) {
    exchange->end_stream();
  } else {
    exchange->reply({200, document_.text()});
  }
}

void ClientExecution::on_drained() {
  if (!is_paused_ || is_over_) return;
  is_paused_ = false;
  if (handle_) handle_->resume();
}

void ClientExecution::on_tick() {
  const auto exchange = exchange_.lock();
  if (exchange && encoder_ && !is_over_) exchange->send(encoder_->keep_alive());
}

void ClientExecution::on_half_closed() {
  if (is_over_ || options_.on_disconnect != wire::OnDisconnect::kInterrupt) return;
  if (handle_) handle_->interrupt();
}

void ClientExecution::on_gone() {
  on_half_closed();
  is_over_ = true;
  handle_.reset();
}

void ClientExecution::on_shutdown() {
  const auto exchange = exchange_.lock();
  if (!exchange || is_over_) return;
  is_over_ = true;
  if (encoder_) {
    exchange->send(encoder_->shutdown());
    exchange->end_stream();
  } else if (has_begun_) {
    document_.add(wire::ended_by_shutdown());
    exchange->reply({200, document_.text()});
  } else {
    exchange->reply(error_reply({503, "the server is shutting down"}));
  }
}

}  // namespace runner::http
