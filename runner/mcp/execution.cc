#include "runner/mcp/execution.h"

#include <utility>

#include "runner/text.h"

namespace runner::mcp {

Execution::Execution(Shared& shared, Request request, std::shared_ptr<Outlet> outlet,
                     ExecuteArguments arguments)
    : SessionCall(shared, std::move(request), std::move(outlet), arguments.session_id),
      wish_(std::move(arguments.wish)),
      timer_(shared.loop) {
  // A new session has the language of its first code.
  if (is_new() && !wish_.language) wish_.language = "python";
}

void Execution::go() {
  auto sink = [weak = weak_from_this()](const ExecutionEvent& event) {
    if (const auto self = weak.lock()) static_cast<Execution&>(*self).on_event(event);
  };
  auto answer = shared().service.execute(request().tenant, session_id(), std::move(wish_), sink);
  if (!answer) return refuse(answer.error());
  handle_ = std::move(*answer);
  wait_tick();
}

void Execution::interrupt() {
  timer_.cancel();
  if (handle_) handle_->interrupt();
}

void Execution::on_event(const ExecutionEvent& event) {
  if (is_over()) return;
  result_.add(event);
  if (const auto* finished = std::get_if<Finished>(&event)) on_finished(*finished);
}

void Execution::on_finished(const Finished& finished) {
  timer_.cancel();
  if (!is_cancelled()) {
    return finish(result_.object({session_id(), is_new()}, shared().untold(session_id())));
  }
  if (is_new()) {
    remove_own_session();
  } else {
    shared().tell_later(session_id(),
                        std::string("An earlier call of this session was cancelled by the "
                                    "client: its code ended as ") +
                            word_text(finished.outcome.word) + ", " + state_text(finished.outcome));
  }
  retire();
}

void Execution::wait_tick() {
  timer_.expires_after(shared().options.progress_every);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self) static_cast<Execution&>(*self).tick();
  });
}

// Whole output is never told here: progress is a word to whoever waits, and may get lost.
void Execution::tick() {
  if (is_over() || is_cancelled()) return;
  const auto& token = request().progress_token;
  if (!token) {
    notify("");
    return wait_tick();
  }
  const auto elapsed =
      std::chrono::duration_cast<jail::Millis>(std::chrono::steady_clock::now() - began_);
  std::string message = result_.has_begun() ? "running, " : "waiting for the session, ";
  message += duration_text(elapsed);
  if (const std::string line = result_.last_line(); !line.empty()) message += "; " + line;
  notify(notification_text("notifications/progress",
                           {{"progressToken", *token},
                            {"progress", static_cast<double>(elapsed.count()) / 1000.0},
                            {"message", to_utf8(message)}}));
  wait_tick();
}

}  // namespace runner::mcp
