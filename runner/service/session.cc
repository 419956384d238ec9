#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <utility>

#include "runner/service/session_execution.h"
#include "runner/text.h"

namespace runner {
namespace {

using Kind = Refusal::Kind;
namespace json = boost::json;

constexpr std::chrono::milliseconds kPressEvery{100};

bool same_folder(const jail::Fd& one, const jail::Fd& other) {
  struct stat a {};
  struct stat b {};
  return ::fstat(one.get(), &a) == 0 && ::fstat(other.get(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

// Nothing came into the jail, which stands: its prototype died, or no process could be made.
bool is_passing(const jail::SetupError& error) {
  return (error.step == jail::Step::kPrototype && error.error == ESRCH) ||
         error.step == jail::Step::kFork;
}

CollectLimits limits_of(const policies::Policy& policy) {
  CollectLimits limits;
  limits.max_file = policy.files.max_file;
  limits.files = policy.files.outputs;
  return limits;
}

class Handle final : public ExecutionHandle {
 public:
  explicit Handle(std::weak_ptr<Session::Execution> execution, std::function<void(bool)> pause,
                  std::function<void()> interrupt)
      : execution_(std::move(execution)),
        pause_(std::move(pause)),
        interrupt_(std::move(interrupt)) {}
  void interrupt() override {
    if (!execution_.expired()) interrupt_();
  }
  void pause() override {
    if (!execution_.expired()) pause_(true);
  }
  void resume() override {
    if (!execution_.expired()) pause_(false);
  }

 private:
  std::weak_ptr<Session::Execution> execution_;
  std::function<void(bool)> pause_;
  std::function<void()> interrupt_;
};

}  // namespace

Session::Session(boost::asio::io_context& io, Launcher& launcher,
                 std::shared_ptr<const SessionPlan> plan, Hasher& hasher,
                 const std::string& container_id, Events events)
    : io_(io),
      launcher_(launcher),
      plan_(std::move(plan)),
      events_(std::move(events)),
      files_(container_id, plan_->policy.files.workdir.path, limits_of(plan_->policy)),
      hasher_(hasher),
      deadline_(io),
      pressing_(io),
      patience_(io) {}

Session::~Session() {
  interpreter_.reset();
  if (jail_id_ != 0) launcher_.close_jail(jail_id_);
}

void Session::adopt(std::unique_ptr<Interpreter> interpreter) {
  interpreter_ = std::move(interpreter);
  jail_id_ = interpreter_->jail_id();
  workdir_ = jail::Fd(::fcntl(interpreter_->workdir().get(), F_DUPFD_CLOEXEC, 3));
  listen();
  start_next();
}

void Session::listen() {
  Interpreter::Events events;
  events.ready = [this] {
    restarts_ = 0;
    // The jail went with the interpreter, and this one came into a new one.
    if (!same_folder(workdir_, interpreter_->workdir())) return lose_jail();
    start_next();
  };
  events.frame = [this](const json::object& frame) { on_frame(frame); };
  events.output = [this](StreamOf stream, std::string_view bytes) { on_output(stream, bytes); };
  events.usage = [this](const jail::Ended& so_far) { on_usage(so_far); };
  events.denied = [this](std::vector<jail::Denied> denied) { denied_ = std::move(denied); };
  // From the loop's next turn: the interpreter that ends is still on the stack.
  events.ended = [this](Result<jail::Ended> how) {
    boost::asio::post(io_, [self = weak_from_this(), how = std::move(how)] {
      if (const auto session = self.lock()) session->on_ended(how);
    });
  };
  interpreter_->set_events(std::move(events));
}

Answer<std::unique_ptr<ExecutionHandle>> Session::execute(ExecuteWish wish, ExecutionSink sink) {
  if (queue_.size() >= kMostQueued)
    return tl::unexpected(
        Refusal{Kind::kTooMany,
                "this container has " + std::to_string(kMostQueued) + " executions waiting already",
                "", std::chrono::seconds(1)});
  const bool has_zero = wish.code.find('\0') != std::string::npos ||
                        (wish.input && wish.input->find('\0') != std::string::npos);
  if (plan_->language == "bash" && has_zero)
    return refuse(Kind::kInvalid, "bash takes no zero bytes", "code");
  auto execution = std::make_shared<Execution>();
  execution->id = new_id("exec_");
  execution->number = ++last_number_;
  execution->after_puts = puts_begun_;
  execution->wish = std::move(wish);
  execution->sink = std::move(sink);
  queue_.push_back(execution);
  // Never from inside the call.
  boost::asio::post(io_, [self = weak_from_this()] {
    if (const auto session = self.lock()) session->start_next();
  });
  const auto pause = [self = weak_from_this(), raw = execution.get()](bool on) {
    const auto session = self.lock();
    raw->paused = on;
    if (!session || session->running_.get() != raw || !session->interpreter_) return;
    if (on) session->interpreter_->pause();
    if (!on) session->interpreter_->resume();
  };
  const auto interrupt = [self = weak_from_this(), raw = execution.get()] {
    const auto session = self.lock();
    if (!session) return;
    if (session->running_.get() == raw) return session->act(Act::kInterrupt);
    session->withdraw(raw);
  };
  return std::make_unique<Handle>(execution, pause, interrupt);
}

Answer<void> Session::interrupt() {
  if (!running_) return refuse(Kind::kInvalid, "nothing is running in this container");
  act(Act::kInterrupt);
  return {};
}

void Session::start_next() {
  if (closed_ || running_ || settling_ || queue_.empty() || !interpreter_ ||
      !interpreter_->is_ready() || queue_.front()->after_puts > puts_over_)
    return;
  running_ = std::move(queue_.front());
  queue_.pop_front();
  begin(*running_);
}

void Session::put_is_over() {
  ++puts_over_;
  start_next();
}

std::string Session::order_of(const Execution& execution) {
  json::object order;
  order["op"] = "execute";
  order["id"] = execution.number;
  order["code"] = execution.wish.code;
  if (execution.wish.input)
    order["stdin"] = *execution.wish.input;
  else
    order["stdin"] = nullptr;
  if (std::exchange(pressed_, false)) order["interrupted"] = true;
  return json::serialize(order);
}

// bash has no JSON: interpreters/README.md.
std::string Session::shell_order(const Execution& execution) {
  const std::string& code = execution.wish.code;
  const auto& input = execution.wish.input;
  return "execute " + std::to_string(execution.number) + " " + std::to_string(code.size()) + " " +
         (input ? std::to_string(input->size()) : "-") + "\n" + code + input.value_or("");
}

void Session::begin(Execution& execution) {
  const policies::Limits& limits = plan_->policy.limits;
  denied_.clear();
  interpreter_->arm(limits.cpu_time);
  execution.started = Clock::now();
  execution.disk = disk_state(workdir_);
  take_late();
  has_state_ = true;
  if (execution.paused) interpreter_->pause();
  if (plan_->language == "bash")
    interpreter_->send_raw(shell_order(execution));
  else
    interpreter_->send(order_of(execution));
  execution.wish.code.clear();
  deadline_.expires_after(
      std::min(execution.wish.timeout.value_or(limits.wall_time), limits.wall_time));
  while_it_runs(deadline_, [](Session& session) { session.act(Act::kDeadline); });
}

// The first act is the cause. SIGINT until the code stops; SIGKILL after the grace.
void Session::act(Act act) {
  if (!running_ || running_->ended || running_->act != Act::kNone) return;
  running_->act = act;
  // A client that is too slow must not keep the end from us.
  if (interpreter_) interpreter_->resume();
  if (running_->begun) press();
  deadline_.expires_after(plan_->policy.limits.grace);
  while_it_runs(deadline_, [](Session& session) {
    if (session.running_->ended || !session.interpreter_) return;
    session.running_->killed = true;
    session.interpreter_->kill();
  });
}

// A signal sent too early, or swallowed, is sent again.
void Session::press() {
  if (!running_ || running_->ended || !interpreter_ || interpreter_->is_over()) return;
  interpreter_->interrupt();
  pressed_ = true;
  pressing_.expires_after(kPressEvery);
  while_it_runs(pressing_, [](Session& session) { session.press(); });
}

// What the timer brings, unless the execution that runs now is over by then.
void Session::while_it_runs(boost::asio::steady_timer& timer, void (*what)(Session&)) {
  timer.async_wait([self = weak_from_this(), number = running_->number,
                    what](const boost::system::error_code& error) {
    const auto session = self.lock();
    if (!error && session && session->running_ && session->running_->number == number)
      what(*session);
  });
}

// The interpreter is gone: by its own doing, by a limit, or by ours.
void Session::on_ended(const Result<jail::Ended>& how) {
  if (closed_) return;
  deadline_.cancel();
  pressing_.cancel();
  if (running_) {
    Outcome outcome;
    if (how) {
      outcome = judge(*how);
    } else {
      outcome.word = Word::kKilled;
      outcome.is_our_error = true;
      outcome.text = "its jail is gone: " + how.error().text;
    }
    // A process that simply stops is no exit of the code that we were told of.
    if (outcome.word == Word::kOk) outcome.word = Word::kExited;
    if (outcome.word == Word::kExited)
      outcome.text = "the interpreter ended with status " +
                     std::to_string(outcome.status.value_or(0)) +
                     "; variables are gone, files stay";
    outcome.state_preserved = false;
    has_state_ = false;  // its outcome says so
    finish(std::move(outcome));
    if (closed_) return;  // by whom it was told
  }
  note_loss(how);
  restart(how);
}

// A fresh interpreter with the same files. When the jail is gone, so is the container: a new one
// under the same name would have lost its files without a word.
void Session::restart(const Result<jail::Ended>& how) {
  constexpr int kMostRestarts = 150;
  constexpr std::chrono::milliseconds kPause{200};
  // While a prototype is being started anew, or we are short of descriptors, the jail stands.
  const bool soon = !how && (how.error().kind == ErrorKind::kHost ||
                             (how.error().setup && is_passing(*how.error().setup)));
  if (!how && (!soon || ++restarts_ > kMostRestarts)) {
    closed_ = true;
    return events_.lost(how.error());
  }
  if (!soon) return join_again();
  interpreter_.reset();
  pressing_.expires_after(kPause);
  pressing_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    const auto session = self.lock();
    if (!error && session && !session->closed_) session->join_again();
  });
}

// From the loop's next turn: the interpreter is on the stack.
void Session::lose_jail() {
  closed_ = true;
  boost::asio::post(io_, [self = shared_from_this()] {
    if (self->interpreter_) self->events_.lost(Error{ErrorKind::kSpawner, "its jail is gone", {}});
  });
}

void Session::join_again() {
  interpreter_ = std::make_unique<Interpreter>(io_, launcher_);
  pressed_ = false;
  listen();
  plan_->join(*interpreter_, jail_id_);
}

void Session::tell(const ExecutionEvent& event) {
  if (running_ && running_->sink) running_->sink(event);
}

}  // namespace runner
