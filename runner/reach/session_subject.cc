// By joining: what a session's jail gives. The helper is the spawner's own prototype's child, as a
// bash session's interpreter is; Python probes run in sessions of the real service.
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "jail/client.h"
#include "policies/compile.h"
#include "runner/reach/evidence.h"
#include "runner/reach/fetch.h"
#include "runner/reach/spawner_subject.h"
#include "runner/service.h"
#include "runner/service_factory.h"
#include "runner/session/interpreter.h"

namespace runner::reach {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kKept = std::size_t{64} << 10U;

void keep(std::string& into, std::string_view bytes) {
  into += bytes;
  if (into.size() > 2 * kKept) into.erase(0, into.size() - kKept);
}

// One helper in one jail that it has joined.
class Joined {
 public:
  Joined(asio::io_context& io, Launcher& launcher, const Prepared& prepared,
         std::function<void(Answer)> done)
      : launcher_(launcher),
        prepared_(prepared),
        interpreter_(io, launcher),
        timer_(io),
        done_(std::move(done)) {}

  void start(const jail::Fd& plan, const jail::Fd& command) {
    Interpreter::Events events;
    events.ready = [] {};
    events.frame = [](const boost::json::object& /*frame*/) {};
    events.output = [this](StreamOf stream, std::string_view bytes) {
      keep(stream == StreamOf::kOut ? answer_.out : answer_.err, bytes);
    };
    events.usage = [](const jail::Ended& /*so_far*/) {};
    events.denied = [this](const std::vector<jail::Denied>& denied) {
      if (!denied.empty()) answer_.refused_by.push_back(Layer::kSeccomp);
    };
    events.ended = [this](const Result<jail::Ended>& how) { ended(how); };
    interpreter_.set_events(std::move(events));
    timer_.expires_after(prepared_.policy.limits.wall_time + prepared_.policy.limits.grace);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      late_ = true;
      interpreter_.kill();
    });
    interpreter_.join(0, plan, 0, &command);
  }

  void stop() { interpreter_.kill(); }

 private:
  void ended(const Result<jail::Ended>& how) {
    timer_.cancel();
    interpreter_.drain();
    if (!how) {
      answer_.error = how.error();
    } else {
      Answer told = answer_from(*how, launcher_.hello().value_or(jail::Hello{}));
      answer_.exited = told.exited;
      answer_.wait_status = told.wait_status;
      answer_.ended_by = late_ ? std::optional(Layer::kSupervisor) : told.ended_by;
      for (const Layer layer : told.refused_by)
        if (answer_.refused_by.empty() || layer != answer_.refused_by.front())
          answer_.refused_by.push_back(layer);
    }
    workdir_ = interpreter_.workdir().get();
    if (answer_.error == std::nullopt) answer_.leaked = leak();
    if (interpreter_.jail_id() != 0) launcher_.close_jail(interpreter_.jail_id());
    done_(std::move(answer_));
  }

  [[nodiscard]] std::string leak() const {
    if (workdir_ < 0) return "";
    return fetch_safely(interpreter_.workdir(), prepared_.policy);
  }

  Launcher& launcher_;
  const Prepared& prepared_;
  Interpreter interpreter_;
  asio::steady_timer timer_;
  std::function<void(Answer)> done_;
  Answer answer_;
  int workdir_ = -1;
  bool late_ = false;
};

class SessionSubject final : public SpawnerSubject {
 public:
  SessionSubject(const Home& home, const JailPlans& plans) : SpawnerSubject(home, plans, "join") {}

  ~SessionSubject() override { end_loop(); }
  SessionSubject(const SessionSubject&) = delete;
  SessionSubject& operator=(const SessionSubject&) = delete;
  SessionSubject(SessionSubject&&) = delete;
  SessionSubject& operator=(SessionSubject&&) = delete;

  Result<void> start() {
    for (const auto& [from, to] : {std::pair{&plans_.full, &full_}, {&plans_.small, &small_}}) {
      jail::Spec spec = from->spec;
      spec.start = jail::Start::kJoin;
      auto plan = jail::make_plan(spec);
      if (!plan) return fail(ErrorKind::kSetup, jail::describe(plan.error(), &spec));
      *to = std::move(*plan);
    }
    if (auto started = start_spawner(); !started) return started;
    ServiceOptions options;
    options.default_policy = plans_.word;
    service_ = make_service(io_, home_, options);
    start_loop();
    return {};
  }

  // What a session counts by itself, per execution, is no matter of the jail it has joined.
  bool can_run(const Probe& probe) const override {
    constexpr std::array<std::string_view, 7> kCounted = {"r12", "r13", "r14", "r15",
                                                          "r16", "r17", "c10"};
    if (std::find(kCounted.begin(), kCounted.end(), probe.id) != kCounted.end()) return false;
    return SpawnerSubject::can_run(probe);
  }

  Answer run(const Attempt& attempt) override {
    if (attempt.probe->by == By::kPython) return run_python(attempt);
    const Prepared& prepared = plans_.of(*attempt.probe);
    const auto sealed = helper_command(prepared, attempt);
    if (!sealed) return failed(sealed.error());
    std::promise<Answer> promise;
    auto future = promise.get_future();
    const auto joined = std::make_shared<std::unique_ptr<Joined>>();
    asio::post(io_, [&, joined] {
      *joined = std::make_unique<Joined>(io_, launcher_, prepared, [&, joined](Answer answer) {
        asio::post(io_, [&, joined, answer = std::make_shared<Answer>(std::move(answer))] {
          joined->reset();
          promise.set_value(std::move(*answer));
        });
      });
      (*joined)->start(attempt.probe->room == Room::kSmall ? small_ : full_, *sealed);
    });
    return come_of(future, [joined] {
      if (*joined) (*joined)->stop();
    });
  }

 private:
  // A container of its own for each.
  struct Session {
    std::promise<Answer> promise;
    std::string id;
    Answer answer;
    std::unique_ptr<ExecutionHandle> handle;
  };

  Answer run_python(const Attempt& attempt) {
    auto session = std::make_shared<Session>();
    auto future = session->promise.get_future();
    asio::post(io_, [this, session, &attempt] {
      ContainerWish wish;
      wish.policy = plans_.word;
      service_->create("", wish, [this, session, &attempt](const runner::Answer<Container>& made) {
        if (!made) return refuse(*session, made.error());
        session->id = made->id;
        execute(session, attempt);
      });
    });
    return future.get();
  }

  static void refuse(Session& session, const Refusal& refusal) {
    session.promise.set_value(failed(Error{ErrorKind::kHost, refusal.text, {}}));
  }

  // Sessions take no environment from a request: code sets it for itself.
  void execute(const std::shared_ptr<Session>& session, const Attempt& attempt) {
    ExecuteWish wish;
    wish.code = std::string(attempt.probe->code);
    auto begun = service_->execute("", session->id, wish, [this, session](const auto& event) {
      if (const auto* output = std::get_if<Output>(&event))
        keep(output->to == Output::To::kOut ? session->answer.out : session->answer.err,
             output->bytes);
      if (const auto* raised = std::get_if<Raised>(&event))
        session->answer.err += raised->name + ": " + raised->value;
      if (!std::holds_alternative<Finished>(event)) return;
      session->answer.exited = true;
      asio::post(io_, [this, session] {
        session->handle.reset();
        (void)service_->remove("", session->id);
        session->promise.set_value(std::move(session->answer));
      });
    });
    if (!begun) return refuse(*session, begun.error());
    session->handle = std::move(*begun);
  }

  jail::Fd full_;
  jail::Fd small_;
  std::unique_ptr<Service> service_;
};

}  // namespace

Result<std::unique_ptr<Subject>> make_session_subject(const Home& home, const JailPlans& plans) {
  auto subject = std::make_unique<SessionSubject>(home, plans);
  if (auto started = subject->start(); !started) return tl::unexpected(started.error());
  return subject;
}

}  // namespace runner::reach
