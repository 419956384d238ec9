#include "runner/reach/jail_subject.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <utility>

#include "jail/client.h"
#include "runner/reach/evidence.h"
#include "runner/reach/fetch.h"
#include "runner/reach/spawner_subject.h"
#include "runner/session/content.h"
#include "runner/session/execution.h"

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

class JailSubject final : public SpawnerSubject {
 public:
  JailSubject(const Home& home, const policies::Library& library, const JailPlans& plans)
      : SpawnerSubject(home, plans, "exec"), library_(library) {}

  ~JailSubject() override { end_loop(); }
  JailSubject(const JailSubject&) = delete;
  JailSubject& operator=(const JailSubject&) = delete;
  JailSubject(JailSubject&&) = delete;
  JailSubject& operator=(JailSubject&&) = delete;

  Answer run(const Attempt& attempt) override {
    if (attempt.probe->by == By::kPython) return run_python(attempt);
    const Prepared& prepared = plans_.of(*attempt.probe);
    const auto sealed = helper_command(prepared, attempt);
    if (!sealed) return failed(sealed.error());
    return execute(attempt, prepared, *sealed, {});
  }

 private:
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
    const auto execution = std::make_shared<std::unique_ptr<Execution>>();
    asio::post(io_, [&, execution] {
      *execution = std::make_unique<Execution>(io_, launcher_, request);
      (*execution)->start([&, execution](Result<ExecutionRecord> record) {
        // Not from within the execution's own call.
        asio::post(
            io_, [&, execution,
                  record = std::make_shared<Result<ExecutionRecord>>(std::move(record))]() mutable {
              execution->reset();
              promise.set_value(std::move(*record));
            });
      });
    });
    auto record = come_of(future, [execution] {
      // The first asks, the second kills.
      for (int i = 0; i < 2 && *execution; ++i) (*execution)->interrupt(SIGINT);
    });
    if (!record) return failed(record.error());
    Answer answer = answer_from(record->facts.ended, hello());
    if (record->facts.act == Act::kDeadline) answer.ended_by = Layer::kSupervisor;
    answer.out = std::move(record->out);
    answer.err = std::move(record->err);
    answer.cut = record->facts.out.truncated || record->facts.err.truncated;
    if (attempt.probe->by == By::kHost)
      answer.leaked = fetch_safely(record->workdir, prepared.policy);
    return answer;
  }

  const policies::Library& library_;
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
  if (auto started = subject->start_spawner(); !started) return tl::unexpected(started.error());
  subject->start_loop();
  return subject;
}

}  // namespace runner::reach
