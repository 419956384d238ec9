// One container's live part: its jail, the interpreter in it, and the executions that wait for it,
// one after the other. An interpreter that ends is followed by a fresh one in the same jail: files
// stay, variables do not, and the outcome says which.
//
// Nothing a frame says is believed but what only concerns the code itself: that it ended, and
// whether by an exception. Time, memory, signals and refused calls come from the spawner.
// One event loop, its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policies/policy.h"
#include "runner/service.h"
#include "runner/service/file_table.h"
#include "runner/session/denied.h"
#include "runner/session/interpreter.h"

namespace runner {

// What all sessions of one policy share, and outlives them.
struct SessionPlan {
  policies::Policy policy;
  std::string language = "python";
  jail::Fd plan;
  std::optional<jail::Fd> command;  // what is executed, where nothing is forked
  RuleOf rule_of;
  std::function<std::uint32_t()> prototype;  // the one to join from now; 0: none

  // Brings `interpreter` into the jail `into`, 0: a new one.
  void join(Interpreter& interpreter, std::uint64_t into) const {
    interpreter.join(prototype(), plan, into, command ? &*command : nullptr);
  }
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostQueued = 16;

  struct Events {
    std::function<std::int64_t()> now;           // seconds since 1970
    std::function<std::int64_t()> touch;         // activity: returns the new expires_at
    std::function<void(const Error& why)> lost;  // its jail is gone, with all that was in it
  };

  Session(boost::asio::io_context& io, Launcher& launcher, std::shared_ptr<const SessionPlan> plan,
          Hasher& hasher, const std::string& container_id, Events events);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;

  // Takes an interpreter that is ready.
  void adopt(std::unique_ptr<Interpreter> interpreter);
  // Ends everything: running and waiting executions finish as `word`, and are told from the loop.
  void close(Word word, const std::string& text);

  Answer<std::unique_ptr<ExecutionHandle>> execute(ExecuteWish wish, ExecutionSink sink);
  Answer<void> interrupt();
  [[nodiscard]] bool is_busy() const { return running_ || settling_ || !queue_.empty(); }

  // A file is being put in: executions that are asked for from now on wait until it is over. They
  // end in the order in which they began.
  void put_begins() { ++puts_begun_; }
  void put_is_over();

  FileTable& files() { return files_; }
  // Has what the last look or upload left unhashed read elsewhere. Returns the ids of those files.
  std::set<std::string> hash_rest();
  [[nodiscard]] const jail::Fd& workdir() const { return workdir_; }

  struct Execution;
  struct Settling;

 private:
  friend struct Execution;
  void listen();
  void start_next();
  void begin(Execution& execution);
  std::string order_of(const Execution& execution);
  static std::string shell_order(const Execution& execution);
  void on_frame(const boost::json::object& frame);
  void take(const boost::json::object& frame);
  void take_result(const boost::json::object& frame);
  void on_output(StreamOf stream, std::string_view bytes);
  void take_late();
  void tell_early();
  void on_usage(const jail::Ended& so_far);
  void on_ended(const Result<jail::Ended>& how);
  void act(Act act);
  void withdraw(const Execution* waiting);
  void press();
  void while_it_runs(boost::asio::steady_timer& timer, void (*what)(Session&));
  void finish(Outcome outcome);
  void conclude();
  void fill_in_digests(Finished& finished);
  void tell(const ExecutionEvent& event);
  void note_loss(const Result<jail::Ended>& how);
  void restart(const Result<jail::Ended>& how);
  void join_again();
  void lose_jail();
  Outcome judge(const jail::Ended& ended);

  boost::asio::io_context& io_;
  Launcher& launcher_;
  std::shared_ptr<const SessionPlan> plan_;
  Events events_;
  FileTable files_;
  jail::Fd workdir_;
  std::unique_ptr<Interpreter> interpreter_;
  std::uint64_t jail_id_ = 0;
  std::deque<std::shared_ptr<Execution>> queue_;
  std::shared_ptr<Execution> running_;
  std::shared_ptr<Settling> settling_;  // what has ended, while its files are hashed
  Hasher& hasher_;
  std::shared_ptr<char> hashing_ = std::make_shared<char>();  // the interest in what is hashed
  std::vector<jail::Denied> denied_;
  std::uint64_t last_number_ = 0;
  bool has_state_ = false;  // something was executed in this interpreter
  bool pressed_ = false;    // an interrupt was sent to it since its last order
  std::string lost_;        // why that is gone, as long as nobody was told
  std::string late_out_;    // written when nothing ran
  std::string late_err_;
  std::uint64_t puts_begun_ = 0;
  std::uint64_t puts_over_ = 0;
  int restarts_ = 0;  // in a row
  bool closed_ = false;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer pressing_;
  boost::asio::steady_timer patience_;
};

}  // namespace runner
