#include "runner/reach/jail_subject.h"

#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <future>
#include <thread>
#include <utility>

#include "jail/client.h"
#include "runner/reach/evidence.h"
#include "runner/reach/fetch.h"
#include "runner/session/content.h"
#include "runner/session/execution.h"
#include "runner/session/launcher.h"

namespace runner::reach {
namespace {

namespace asio = boost::asio;

// What is asked of the tightened copy; a policy that gives less already stays as it is.
policies::Wish small_wish(const policies::Policy& policy) {
  const policies::Limits& l = policy.limits;
  policies::Wish wish;
  wish.memory = std::min(l.memory, jail::mib(96));
  wish.processes = std::min<std::uint64_t>(l.processes, 24);
  wish.wall_time = std::min(l.wall_time, jail::Millis(2000));
  wish.cpu_time = std::min(l.cpu_time, jail::Millis(500));
  wish.output = std::min(l.output, jail::kib(64));
  wish.workdir_size = std::min(policy.files.workdir.size, jail::mib(4));
  return wish;
}

Job helper_job(const std::string& policy, const Outside& outside, policies::Wish wish) {
  Job job;
  job.policy = policy;
  job.wish = wish;
  policies::Bind bind;
  bind.source = outside.helper();
  bind.target = kHelperInside;
  job.extras.read_only.push_back(bind);
  job.what = Program{{kHelperInside, "--list"}};
  return job;
}

bool is_shipped(const policies::Library& library, const std::string& name) {
  const std::vector<std::string> names = library.names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The nearest one by `extends`, which is checked for loops when a policy is read.
std::string ancestor(const policies::Library& library, const std::string& word,
                     const policies::Policy& policy) {
  if (is_shipped(library, word)) return word;
  std::string parent = policy.extends;
  while (!parent.empty() && !is_shipped(library, parent)) {
    const auto found = library.find(parent);
    if (!found) return "";
    parent = found->extends;
  }
  return parent;
}

class JailSubject final : public Subject {
 public:
  JailSubject(const Home& home, const policies::Library& library, const JailPlans& plans)
      : home_(home), library_(library), plans_(plans) {}

  ~JailSubject() override {
    io_.stop();
    if (thread_.joinable()) thread_.join();
    launcher_.close();
    launcher_.shutdown();
  }
  JailSubject(const JailSubject&) = delete;
  JailSubject& operator=(const JailSubject&) = delete;
  JailSubject(JailSubject&&) = delete;
  JailSubject& operator=(JailSubject&&) = delete;

  Result<void> start() {
    if (auto started = launcher_.start(home_.spawner); !started) return started;
    (void)std::signal(SIGPIPE, SIG_IGN);  // after it, as in OneShot
    thread_ = std::thread([this] { io_.run(); });
    return {};
  }

  std::string name() const override { return plans_.full.policy.name; }
  std::string mode() const override { return "exec"; }
  std::string helper(const Outside& /*outside*/) const override { return kHelperInside; }
  bool can_run(const Probe& probe) const override {
    if (probe.by == By::kDoor) return false;
    return probe.by != By::kPython || plans_.full.policy.interpreters.contains("python");
  }
  std::optional<Verdict> expected(const Probe& probe) const override {
    return plans_.expected(probe, mode(), launcher_.hello().value_or(jail::Hello{}).memory);
  }

  Answer run(const Attempt& attempt) override {
    if (attempt.probe->by == By::kPython) return run_python(attempt);
    const Prepared& prepared = plans_.of(*attempt.probe);
    const auto sealed = helper_command(prepared, attempt);
    if (!sealed) return failed(sealed.error());
    return execute(attempt, prepared, *sealed, {});
  }

 private:
  static Answer failed(Error error) {
    Answer answer;
    answer.error = std::move(error);
    return answer;
  }

  Answer run_python(const Attempt& attempt) {
    auto content = content_of(attempt.probe->code);
    if (!content) return failed(content.error());
    Job job;
    job.policy = plans_.word;
    job.env = attempt.env;
    job.what = Code{"python", "", std::move(*content), {}};
    auto prepared = prepare(home_, library_, std::move(job));
    if (!prepared) return failed(prepared.error());
    return execute(attempt, *prepared, prepared->command, prepared->inputs);
  }

  Answer execute(const Attempt& attempt, const Prepared& prepared, const jail::Fd& command,
                 std::span<const jail::Fd> inputs) {
    ExecutionRequest request;
    request.spec = &prepared.spec;
    request.program = prepared.program;
    request.plan = &prepared.plan;
    request.command = &command;
    request.inputs = inputs;
    request.wall_time = prepared.policy.limits.wall_time;
    request.grace = prepared.policy.limits.grace;
    request.output = prepared.policy.limits.output;
    request.output_to = OutputTo::kMemory;
    std::promise<Result<ExecutionRecord>> promise;
    auto future = promise.get_future();
    std::unique_ptr<Execution> execution;
    asio::post(io_, [&] {
      execution = std::make_unique<Execution>(io_, launcher_, request);
      execution->start([&](Result<ExecutionRecord> record) {
        // Not from within the execution's own call.
        asio::post(
            io_,
            [&, record = std::make_shared<Result<ExecutionRecord>>(std::move(record))]() mutable {
              execution.reset();
              promise.set_value(std::move(*record));
            });
      });
    });
    auto record = future.get();
    if (!record) return failed(record.error());
    Answer answer = answer_from(record->facts.ended, launcher_.hello().value_or(jail::Hello{}));
    if (record->facts.act == Act::kDeadline) answer.ended_by = Layer::kSupervisor;
    answer.out = std::move(record->out);
    answer.err = std::move(record->err);
    answer.cut = record->facts.out.truncated || record->facts.err.truncated;
    if (attempt.probe->by == By::kHost)
      answer.leaked = fetch_safely(record->workdir, prepared.policy);
    return answer;
  }

  const Home& home_;
  const policies::Library& library_;
  const JailPlans& plans_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_ = asio::make_work_guard(io_);
  Launcher launcher_{io_};
  std::thread thread_;
};

}  // namespace

Result<jail::Fd> helper_command(const Prepared& prepared, const Attempt& attempt) {
  jail::Command command;
  command.argv = {kHelperInside, std::string(attempt.probe->id)};
  command.env = environment_of(prepared.policy, nullptr, attempt.env);
  command.cwd = prepared.policy.files.workdir.path;
  auto sealed = jail::make_command(command);
  if (!sealed) {
    return tl::unexpected(Error{ErrorKind::kSetup, "a command is too long", sealed.error()});
  }
  return std::move(*sealed);
}

std::optional<Verdict> JailPlans::expected(const Probe& probe, std::string_view mode,
                                           jail::Enforcer memory) const {
  const bool counted = memory == jail::Enforcer::kCgroupV2 || memory == jail::Enforcer::kCgroupV1;
  const auto verdict = expected_under(probe, declared.empty() ? "loose" : declared, mode,
                                      counted ? Memory::kCounted : Memory::kSampled);
  if (!shipped && verdict == Verdict::kReached) return std::nullopt;
  return verdict;
}

Result<JailPlans> prepare_plans(const Home& home, const policies::Library& library,
                                const std::string& policy, const Outside& outside) {
  auto full = prepare(home, library, helper_job(policy, outside, {}));
  if (!full) return tl::unexpected(full.error());
  const policies::Wish wish = small_wish(full->policy);
  auto small = prepare(home, library, helper_job(policy, outside, wish));
  if (!small) return tl::unexpected(small.error());
  JailPlans plans{policy, "", is_shipped(library, policy), std::move(*full), std::move(*small)};
  plans.declared = ancestor(library, policy, plans.full.policy);
  return plans;
}

Result<std::unique_ptr<Subject>> make_jail_subject(const Home& home,
                                                   const policies::Library& library,
                                                   const JailPlans& plans) {
  auto subject = std::make_unique<JailSubject>(home, library, plans);
  if (auto started = subject->start(); !started) return tl::unexpected(started.error());
  return subject;
}

}  // namespace runner::reach
