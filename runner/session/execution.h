// One command in one fresh jail, from launch to the last byte of its output. Stdin, stdout and
// stderr are always pipes of our own: a payload never holds a file or terminal of our caller's.
//
// Deadlines go by the steady clock from the moment the payload starts: SIGINT at the limit,
// SIGKILL to the whole jail after the grace. Should we be stopped meanwhile, the spawner kills it
// by itself (outcome `timed_out` as well). The end is the spawner's word plus a bounded drain of
// the pipes, never an end of file, which a grandchild could withhold.
// One event loop, its thread. SIGPIPE must be ignored.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jail/client.h"
#include "jail/fd.h"
#include "jail/spec.h"
#include "runner/error.h"
#include "runner/session/flow.h"
#include "runner/session/input_pump.h"
#include "runner/session/launcher.h"
#include "runner/session/outcome.h"
#include "runner/session/output_pump.h"

namespace runner {

struct ExecutionRequest {
  const jail::Spec* spec = nullptr;  // for messages
  std::string program;               // likewise
  const jail::Fd* plan = nullptr;
  const jail::Fd* command = nullptr;
  std::span<const jail::Fd> inputs;
  jail::Millis wall_time{0};  // > 0
  jail::Millis grace{0};
  jail::Bytes output{};  // stdout and stderr, each
  InputFrom input = InputFrom::kNothing;
  OutputTo output_to = OutputTo::kCaller;
};

// What was seen. `facts` is everything an outcome is decided from.
struct ExecutionRecord {
  Facts facts;
  std::vector<jail::Denied> denied;
  std::string out;  // with kMemory
  std::string err;
  jail::Fd workdir;  // O_PATH
};

class Execution final : public LaunchListener {
 public:
  using Done = std::function<void(Result<ExecutionRecord>)>;

  // What `request` points to must outlive this object.
  Execution(boost::asio::io_context& io, Launcher& launcher, const ExecutionRequest& request);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  Execution(Execution&&) = delete;
  Execution& operator=(Execution&&) = delete;

  // `done` is called exactly once, from the loop.
  void start(Done done);

  // The first call asks (SIGINT), the second kills; `signal` is what the outcome will name.
  void interrupt(int signal);

  void on_launched(jail::Launched launched) override;
  void on_denied(std::vector<jail::Denied> denied) override;
  void on_ended(const jail::Ended& ended) override;
  void on_lost(const Error& error) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Pipes;
  Result<Pipes> make_pipes();
  void act(Act act, int signal);
  void kill();
  void after(jail::Millis delay, void (Execution::*what)());
  void deadline() { act(Act::kDeadline, 0); }
  void silent();
  void sink_failed(int fd, int error);
  void drain();
  void drain_is_over();
  void finish_if_drained();
  void finish(Result<ExecutionRecord> result);

  boost::asio::io_context& io_;
  Launcher& launcher_;
  ExecutionRequest request_;
  Done done_;
  std::uint64_t id_ = 0;
  Clock::time_point started_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<InputPump> in_;
  std::shared_ptr<OutputPump> out_;
  std::shared_ptr<OutputPump> err_;
  ExecutionRecord record_;
  int stdout_error_ = 0;
  bool running_ = false;
  bool ended_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();  // for timers that are already due
};

}  // namespace runner
