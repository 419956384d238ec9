// One execute_code: from its arguments to its result, with progress while the code runs. The event
// loop's thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

#include "runner/mcp/arguments.h"
#include "runner/mcp/execution_result.h"
#include "runner/mcp/session_call.h"

namespace runner::mcp {

class Execution final : public SessionCall {
 public:
  Execution(Shared& shared, Request request, std::shared_ptr<Outlet> outlet,
            ExecuteArguments arguments);
  void begin() { start(wish_.language); }

 private:
  void go() override;
  void interrupt() override;
  void on_event(const ExecutionEvent& event);
  void on_finished(const Finished& finished);
  void wait_tick();
  void tick();

  ExecuteWish wish_;
  ExecutionResult result_;
  std::unique_ptr<ExecutionHandle> handle_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace runner::mcp
