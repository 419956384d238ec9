#include "runner/session/session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <utility>

#include "runner/text.h"

namespace runner {
namespace {

using Kind = Refusal::Kind;
namespace json = boost::json;

// Results of one execution: more is cut off, and said.
constexpr std::size_t kMostResults = 256;
constexpr std::size_t kMostResultBytes = std::size_t{64} << 20U;
constexpr std::chrono::milliseconds kPressEvery{100};

std::string text_in(const json::object& frame, const char* key) {
  const auto* value = frame.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::uint64_t number_in(const json::object& frame, const char* key) {
  const auto* value = frame.if_contains(key);
  if (value == nullptr) return 0;
  if (value->is_int64() && value->get_int64() >= 0)
    return static_cast<std::uint64_t>(value->get_int64());
  return value->is_uint64() ? value->get_uint64() : 0;
}

bool same_folder(const jail::Fd& one, const jail::Fd& other) {
  struct stat a {};
  struct stat b {};
  return ::fstat(one.get(), &a) == 0 && ::fstat(other.get(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

DiskState disk_of(const jail::Fd& workdir) {
  struct statvfs info {};
  if (!workdir.valid() || ::fstatvfs(workdir.get(), &info) != 0) return DiskState::kUnknown;
  if (info.f_blocks > 0 && info.f_bfree == 0) return DiskState::kNoBlocks;
  if (info.f_files > 0 && info.f_ffree == 0) return DiskState::kNoInodes;
  return DiskState::kRoom;
}

CollectLimits limits_of(const policies::Policy& policy) {
  CollectLimits limits;
  limits.max_file = policy.files.max_file;
  limits.files = policy.files.outputs;
  return limits;
}

}  // namespace

struct Session::Execution : std::enable_shared_from_this<Execution> {
  std::string id;
  std::uint64_t number = 0;  // in frames
  ExecuteWish wish;
  ExecutionSink sink;
  std::weak_ptr<Session> session;
  Act act = Act::kNone;
  Clock::time_point started;
  Stream out;
  Stream err;
  std::size_t results = 0;
  std::size_t result_bytes = 0;
  bool begun = false;
  std::vector<Output> early;  // read before `begin` was: pipes and channel are not ordered
  bool paused = false;
  bool ended = false;
  std::string status;
  int code = 0;
  bool raised = false;
};

namespace {

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
                 std::shared_ptr<const SessionPlan> plan, const std::string& container_id,
                 Events events)
    : io_(io),
      launcher_(launcher),
      plan_(std::move(plan)),
      events_(std::move(events)),
      files_(container_id, plan_->policy.files.workdir.path, limits_of(plan_->policy)),
      deadline_(io),
      pressing_(io) {}

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
  auto execution = std::make_shared<Execution>();
  execution->id = new_id("exec_");
  execution->number = ++last_number_;
  execution->wish = std::move(wish);
  execution->sink = std::move(sink);
  execution->session = weak_from_this();
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
    raw->act = Act::kInterrupt;  // it waits: it will not begin
  };
  return std::make_unique<Handle>(execution, pause, interrupt);
}

Answer<void> Session::interrupt() {
  if (!running_)
    return tl::unexpected(Refusal{Kind::kInvalid, "nothing is running in this container", "", {}});
  act(Act::kInterrupt);
  return {};
}

void Session::start_next() {
  if (closed_ || running_ || queue_.empty() || !interpreter_ || !interpreter_->is_ready()) return;
  running_ = std::move(queue_.front());
  queue_.pop_front();
  if (running_->act == Act::kInterrupt) {
    Outcome outcome;
    outcome.word = Word::kInterrupted;
    outcome.text = "it was interrupted before it began";
    outcome.state_preserved = true;
    return finish(std::move(outcome));
  }
  begin(*running_);
}

void Session::begin(Execution& execution) {
  const policies::Limits& limits = plan_->policy.limits;
  denied_.clear();
  interpreter_->arm(limits.cpu_time);
  json::object order;
  order["op"] = "execute";
  order["id"] = execution.number;
  order["code"] = execution.wish.code;
  if (execution.wish.input)
    order["stdin"] = *execution.wish.input;
  else
    order["stdin"] = nullptr;
  execution.started = Clock::now();
  if (execution.paused) interpreter_->pause();
  interpreter_->send(json::serialize(order));
  execution.wish.code.clear();
  deadline_.expires_after(
      std::min(execution.wish.timeout.value_or(limits.wall_time), limits.wall_time));
  deadline_.async_wait(
      [self = weak_from_this(), number = execution.number](const boost::system::error_code& error) {
        const auto session = self.lock();
        if (!error && session && session->running_ && session->running_->number == number)
          session->act(Act::kDeadline);
      });
}

// The first act is the cause. SIGINT until the code stops; SIGKILL after the grace.
void Session::act(Act act) {
  if (!running_ || running_->ended || running_->act != Act::kNone) return;
  running_->act = act;
  // A client that is too slow must not keep the end from us.
  if (interpreter_) interpreter_->resume();
  if (running_->begun) press();
  deadline_.expires_after(plan_->policy.limits.grace);
  deadline_.async_wait(
      [self = weak_from_this(), number = running_->number](const boost::system::error_code& error) {
        const auto session = self.lock();
        if (error || !session || !session->running_ || session->running_->number != number) return;
        if (!session->running_->ended && session->interpreter_) session->interpreter_->kill();
      });
}

// A signal sent too early, or swallowed, is sent again.
void Session::press() {
  if (!running_ || running_->ended || !interpreter_ || interpreter_->is_over()) return;
  interpreter_->interrupt();
  pressing_.expires_after(kPressEvery);
  pressing_.async_wait(
      [self = weak_from_this(), number = running_->number](const boost::system::error_code& error) {
        const auto session = self.lock();
        if (!error && session && session->running_ && session->running_->number == number)
          session->press();
      });
}

void Session::on_frame(const json::object& frame) {
  if (!running_ || running_->ended || number_in(frame, "id") != running_->number) return;
  Execution& execution = *running_;
  const std::string event = text_in(frame, "ev");
  if (event == "begin" && !execution.begun) {
    execution.begun = true;
    tell(Begun{execution.id, number_in(frame, "n")});
    tell_early();
    if (running_ && execution.act != Act::kNone) press();
  } else if (event == "result") {
    Rich rich;
    const auto* main = frame.if_contains("main");
    rich.is_main = main != nullptr && main->is_bool() && main->get_bool();
    std::size_t bytes = 0;
    if (const auto* data = frame.if_contains("data"); data != nullptr && data->is_object()) {
      for (const auto& [type, value] : data->get_object()) {
        if (!value.is_string() || rich.data.size() >= 16) continue;
        bytes += value.get_string().size();
        rich.data[std::string(type)] = std::string(value.get_string());
      }
    }
    if (++execution.results > kMostResults || (execution.result_bytes += bytes) > kMostResultBytes)
      return;
    tell(rich);
  } else if (event == "error") {
    execution.raised = true;
    tell(Raised{text_in(frame, "name"), text_in(frame, "value"), text_in(frame, "traceback")});
  } else if (event == "end") {
    execution.ended = true;
    execution.status = text_in(frame, "status");
    execution.code = static_cast<int>(std::min<std::uint64_t>(number_in(frame, "code"), 255));
    deadline_.cancel();
    pressing_.cancel();
    interpreter_->ask_usage();
  }
}

void Session::on_output(StreamOf stream, std::string_view bytes) {
  // What threads write between executions belongs to none, and is dropped.
  if (!running_) return;
  const bool is_out = stream == StreamOf::kOut;
  Stream& counted = is_out ? running_->out : running_->err;
  const std::uint64_t cap = plan_->policy.limits.output.value;
  const std::uint64_t room = cap > counted.produced ? cap - counted.produced : 0;
  counted.produced += bytes.size();
  counted.truncated = counted.truncated || bytes.size() > room;
  if (room == 0) return;
  Output output{is_out ? Output::To::kOut : Output::To::kErr,
                std::string(bytes.substr(0, static_cast<std::size_t>(room)))};
  if (running_->begun) return tell(output);
  running_->early.push_back(std::move(output));
}

void Session::tell_early() {
  const auto execution = running_;
  if (!execution) return;
  for (const Output& output : std::exchange(execution->early, {})) tell(output);
}

// The execution has come to its own end, and this is what it took.
void Session::on_usage(const jail::Ended& so_far) {
  if (!running_ || !running_->ended) return;
  jail::Ended ended = so_far;
  ended.exited = true;
  const bool failed = running_->status == "error" || running_->status == "interrupted";
  ended.wait_status = (running_->status == "exit" ? running_->code : failed ? 1 : 0) << 8;
  Outcome outcome = judge(ended);
  outcome.state_preserved = true;
  if (outcome.word == Word::kExited && failed) {
    outcome.word = Word::kRaised;
    outcome.status.reset();
  }
  if (running_->status != "exit") outcome.status.reset();
  finish(std::move(outcome));
}

Outcome Session::judge(const jail::Ended& ended) {
  Facts facts;
  facts.ended = ended;
  facts.act = running_->act;
  facts.signal = facts.act == Act::kInterrupt ? SIGINT : 0;
  facts.disk = disk_of(workdir_);
  facts.out = running_->out;
  facts.err = running_->err;
  facts.wall = std::chrono::duration_cast<jail::Millis>(Clock::now() - running_->started);
  LimitsInForce limits{plan_->policy.limits, plan_->policy.files.workdir};
  if (running_->wish.timeout)
    limits.limits.wall_time = std::min(limits.limits.wall_time, *running_->wish.timeout);
  return decide(facts, limits);
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
      outcome.text = "its jail is gone: " + how.error().text;
    }
    // A process that simply stops is no exit of the code that we were told of.
    if (outcome.word == Word::kOk) outcome.word = Word::kExited;
    if (outcome.word == Word::kExited)
      outcome.text = "the interpreter ended with status " +
                     std::to_string(outcome.status.value_or(0)) +
                     "; variables are gone, files stay";
    outcome.state_preserved = false;
    finish(std::move(outcome));
  }
  restart(how);
}

// A fresh interpreter with the same files. When the jail is gone, so is the container: a new one
// under the same name would have lost its files without a word.
void Session::restart(const Result<jail::Ended>& how) {
  constexpr int kMostRestarts = 150;
  constexpr std::chrono::milliseconds kPause{200};
  // While a prototype is being started anew, or we are short of descriptors, the jail stands.
  const bool soon =
      !how && (how.error().kind == ErrorKind::kHost ||
               (how.error().setup && how.error().setup->step == jail::Step::kPrototype &&
                how.error().setup->error == ESRCH));
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
  listen();
  interpreter_->join(plan_->prototype(), plan_->plan, jail_id_);
}

void Session::tell(const ExecutionEvent& event) {
  if (running_ && running_->sink) running_->sink(event);
}

void Session::finish(Outcome outcome) {
  tell_early();
  const std::shared_ptr<Execution> execution = std::exchange(running_, nullptr);
  deadline_.cancel();
  pressing_.cancel();
  Finished finished;
  FileTable::Changes changes =
      files_.look(workdir_, std::chrono::duration_cast<std::chrono::seconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count());
  finished.files = std::move(changes.files);
  finished.skipped = std::move(changes.skipped);
  finished.denied = explain_denied(std::exchange(denied_, {}), plan_->rule_of);
  finished.outcome = std::move(outcome);
  finished.expires_at = events_.touch ? events_.touch() : 0;
  const auto self = shared_from_this();
  if (execution->sink) std::exchange(execution->sink, nullptr)(finished);
  if (interpreter_) interpreter_->resume();
  start_next();
}

void Session::close(Word word, const std::string& text) {
  const auto self = shared_from_this();
  closed_ = true;
  const auto end_as = [&](const std::shared_ptr<Execution>& execution) {
    Finished finished;
    finished.outcome.word = word;
    finished.outcome.text = text;
    finished.outcome.out = execution->out;
    finished.outcome.err = execution->err;
    if (execution->sink) std::exchange(execution->sink, nullptr)(finished);
  };
  if (const auto running = std::exchange(running_, nullptr)) end_as(running);
  for (const auto& waiting : std::exchange(queue_, {})) end_as(waiting);
  deadline_.cancel();
  pressing_.cancel();
  interpreter_.reset();
  if (jail_id_ != 0) launcher_.close_jail(std::exchange(jail_id_, 0));
}

}  // namespace runner
