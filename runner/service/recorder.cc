#include "runner/service/recorder.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "runner/service/recorder_inner.h"
#include "runner/service/sessions.h"
#include "runner/service_factory.h"

namespace runner {
namespace {

using trace::Kind;

constexpr std::size_t kMostInputs = 256;  // named in one record; uploads have their own
constexpr std::uint64_t kForgetEvery = 64;
constexpr std::size_t kMostRefusals = 60;  // of creations in the trace: an owner's, in a minute

}  // namespace

Recorder::Recorder(boost::asio::io_context& loop, std::unique_ptr<Service> inner, Options options)
    : loop_(loop), inner_(std::move(inner)), options_(std::move(options)), reader_(loop) {}

Recorder::~Recorder() {
  *alive_ = 0;
  for (const auto& [key, run] : running_)
    if (run->box) run->box->keeping = 0;  // nothing waits any more
  for (const auto& [box, end] : std::exchange(held_, {})) {
    box->keeping = 0;
    end();
  }
  Finished finished;
  finished.outcome.word = Word::kKilled;
  finished.outcome.text = "the server is shutting down";
  for (const auto& [key, run] : std::exchange(running_, {}))
    finish(run, finished, [](const ExecutionEvent&) {});
}

// ------------------------------------------------------------------------------------------------
// Containers.

void Recorder::create(const Tenant& tenant, const ContainerWish& wish, ContainerDone done) {
  if (auto stopping = stopped()) {
    count(options_.metrics, Of::kCreate, Ending::kError);
    boost::asio::post(loop_, [done = std::move(done), refusal = std::move(*stopping)] {
      done(tl::unexpected(refusal));
    });
    return;
  }
  inner_->create(
      tenant, wish,
      [this, tenant, wish, done = std::move(done), start = Clock::now(),
       alive = std::weak_ptr(alive_)](const Answer<Container>& made) {
        if (alive.expired()) return;
        if (!made) {
          refused(tenant, wish, made.error());
          return done(made);
        }
        if (options_.metrics != nullptr)
          options_.metrics->create_duration.add(seconds_since(start));
        const auto box = open_box(tenant, wish, *made);
        if (wish.file_ids.empty() || options_.trace == nullptr) return done(made);
        auto files = inner_->files(tenant, made->id, Page{100, Page::Order::kAscending, ""});
        if (!files) return done(made);
        all_uploaded(box, std::move(files->data), [done, made] { done(made); });
      });
}

std::shared_ptr<Recorder::Box> Recorder::open_box(const Tenant& tenant, const ContainerWish& wish,
                                                  const Container& made) {
  if (++opened_ % kForgetEvery == 0) forget_idle_boxes();
  count(options_.metrics, Of::kCreate, Ending::kOk);
  auto box = std::make_shared<Box>();
  box->id = made.id;
  box->tenant = tenant;
  box->owner = owner_of(tenant);
  box->language = made.language;
  box->policy = policy_of(wish.policy.value_or(options_.default_policy));
  box->policy.name = made.policy;
  box->policy.memory_bytes = made.memory.value;
  box->idle = made.idle;
  boxes_[made.id] = box;
  return box;
}

// Who asks again and again while there is no room must not push what ran out of the trace.
bool Recorder::admits_refusal(const std::string& owner) {
  if (Clock::now() - refusals_since_ >= std::chrono::minutes(1)) {
    refusals_since_ = Clock::now();
    refusals_.clear();
  }
  return ++refusals_[owner] <= kMostRefusals;
}

void Recorder::refused(const Tenant& tenant, const ContainerWish& wish, const Refusal& refusal) {
  const Ending ending = ending_of(refusal);
  count(options_.metrics, Of::kCreate, ending);
  Box box;
  box.owner = owner_of(tenant);
  if (options_.trace == nullptr || !admits_refusal(box.owner)) return;
  box.language = wish.language.value_or("python");
  box.policy.name = wish.policy.value_or(options_.default_policy);
  if (wish.memory) box.policy.memory_bytes = wish.memory->value;
  trace::Record record = record_for(box, Kind::kCreate);
  record.id = new_id("refusal_");
  record.ran = false;
  record.ending = ending;
  record.outcome = ending == Ending::kError ? "error" : word_text(Word::kRefused);
  record.title = "a session was asked for";
  record.text = refusal.text;
  if (refusals_[box.owner] == kMostRefusals)
    record.text += "; more of them in this minute are counted, and not written";
  write(record, [] {});
}

// Expiry is the inner service's; whoever has not been heard of for so long is gone.
void Recorder::forget_idle_boxes() {
  std::erase_if(boxes_, [](const auto& one) {
    const Box& box = *one.second;
    return box.running == 0 && Clock::now() - box.touched > box.idle + std::chrono::minutes(1);
  });
}

std::shared_ptr<Recorder::Box> Recorder::box_of(const Tenant& tenant, std::string_view id) {
  const auto found = boxes_.find(id);
  if (found == boxes_.end() || found->second->tenant != tenant) return nullptr;
  found->second->touched = Clock::now();
  return found->second;
}

Answer<Container> Recorder::find(const Tenant& tenant, std::string_view id) {
  (void)box_of(tenant, id);
  return inner_->find(tenant, id);
}

Answer<Listing<Container>> Recorder::list(const Tenant& tenant, const Page& page,
                                          std::string_view name) {
  return inner_->list(tenant, page, name);
}

Answer<void> Recorder::remove(const Tenant& tenant, std::string_view id) {
  const std::string kept(id);
  auto removed = inner_->remove(tenant, id);
  if (removed) boxes_.erase(kept);
  return removed;
}

// ------------------------------------------------------------------------------------------------
// Executions.

trace::Record Recorder::record_for(const Box& box, Kind kind) const {
  trace::Record record;
  record.kind = kind;
  record.time_us = trace::now_us();
  record.session = box.id;
  record.owner = box.owner;
  record.language = box.language;
  record.policy = box.policy;
  return record;
}

Answer<std::unique_ptr<ExecutionHandle>> Recorder::execute(const Tenant& tenant,
                                                           std::string_view id, ExecuteWish wish,
                                                           ExecutionSink sink) {
  if (auto stopping = stopped()) {
    count(options_.metrics, Of::kExecution, Ending::kError);
    return tl::unexpected(std::move(*stopping));
  }
  const auto box = box_of(tenant, id);
  if (!box) return inner_->execute(tenant, id, std::move(wish), std::move(sink));
  trace::Record record = record_for(*box, Kind::kExecute);
  ask(record, wish);
  const auto run = std::make_shared<Run>(std::move(record), box);
  auto handle = inner_->execute(tenant, id, std::move(wish), sink_for(run, std::move(sink)));
  if (!handle) refused(run, handle.error());
  return handle;
}

Answer<std::unique_ptr<ExecutionHandle>> Recorder::execute_once(const Tenant& tenant,
                                                                const OnceWish& wish,
                                                                const ExecutionSink& sink) {
  if (auto stopping = stopped()) {
    count(options_.metrics, Of::kExecution, Ending::kError);
    return tl::unexpected(std::move(*stopping));
  }
  Box box;
  box.owner = owner_of(tenant);
  box.language = wish.execute.language.value_or("python");
  box.policy.name = wish.policy.value_or(options_.default_policy);
  if (wish.memory) box.policy.memory_bytes = wish.memory->value;
  trace::Record record = record_for(box, Kind::kOnce);
  ask(record, wish.execute);
  for (const auto& [name, content] : wish.files) {
    const std::string hash = trace::sha256(content);
    if (options_.trace != nullptr)
      options_.trace->keep_input(std::make_shared<const std::string>(content), hash, [] {});
    record.inputs.push_back({name, hash, content.size()});
  }
  const auto run = std::make_shared<Run>(std::move(record), nullptr);
  auto handle = inner_->execute_once(tenant, wish, sink_for(run, sink));
  if (!handle) refused(run, handle.error());
  return handle;
}

// Its place among what happened to its session, and the files that it finds: as it begins, since it
// may have waited behind others; or as it ends, where it never began.
void Recorder::place(Run& run) {
  trace::Record& record = run.gathered.record();
  if (!run.box || record.seq != 0) return;
  record.seq = ++run.box->last_seq;
  for (const auto& [path, file] : run.box->inputs)
    if (record.inputs.size() < kMostInputs) record.inputs.push_back(file);
}

ExecutionSink Recorder::sink_for(const std::shared_ptr<Run>& run, ExecutionSink sink) {
  running_[run.get()] = run;
  if (run->box) ++run->box->running;
  return [this, run, sink = std::move(sink),
          alive = std::weak_ptr(alive_)](const ExecutionEvent& event) {
    const auto* finished = std::get_if<Finished>(&event);
    if (alive.expired()) return sink(event);
    if (finished != nullptr) return finish(run, *finished, sink);
    if (std::holds_alternative<Begun>(event)) place(*run);
    run->gathered.add(event);
    sink(event);
  };
}

// The record is written before the outcome is told, and after the files that it found are kept.
void Recorder::finish(const std::shared_ptr<Run>& run, const Finished& finished,
                      const ExecutionSink& sink) {
  running_.erase(run.get());
  place(*run);
  if (run->box && run->box->keeping > 0) {
    held_.emplace_back(run->box, [this, run, finished, sink] { finish(run, finished, sink); });
    return;
  }
  trace::Record record = run->gathered.finish(finished);
  if (record.id.empty()) record.id = new_id("exec_");
  // Not before: the name was the client's word.
  if (record.ran && record.policy.sha256.empty())
    record.policy.sha256 = policy_of(record.policy.name).sha256;
  if (run->box) {
    --run->box->running;
    run->box->touched = Clock::now();
    // What the code wrote over is no input any more.
    for (const File& file : finished.files) run->box->inputs.erase(file.path);
  }
  count(options_.metrics, Of::kExecution, record.ending);
  if (Metrics* metrics = options_.metrics; metrics != nullptr) {
    metrics->execute_duration.add(seconds_since(run->start));
    for (const DeniedEntry& entry : finished.denied) metrics->refused_calls += entry.count;
  }
  if (options_.trace == nullptr) return sink(finished);
  if (!options_.trace->waits_for_disk()) {
    options_.trace->add(record, [] {});
    return sink(finished);
  }
  options_.trace->add(record, [sink, finished] { sink(finished); });
}

void Recorder::refused(const std::shared_ptr<Run>& run, const Refusal& refusal) {
  running_.erase(run.get());
  place(*run);
  trace::Record& record = run->gathered.record();
  if (run->box) --run->box->running;
  record.id = new_id("exec_");
  record.ran = false;
  record.ending = ending_of(refusal);
  record.outcome = record.ending == Ending::kError ? "error" : word_text(Word::kRefused);
  record.text = refusal.text;
  count(options_.metrics, Of::kExecution, record.ending);
  write(record, [] {});
}

void Recorder::evaluated(const Tenant& tenant, const Evaluation& evaluation,
                         const std::function<void()>& then) {
  count(options_.metrics, Of::kEvaluation, evaluation.ending);
  Box box;
  box.owner = owner_of(tenant);
  box.language = "arithmetic";
  box.policy = policy_of("restricted");
  trace::Record record = record_for(box, Kind::kEvaluate);
  record.id = new_id("eval_");
  describe(record, evaluation);
  write(record, then);
}

void Recorder::write(const trace::Record& record, const std::function<void()>& then) {
  if (options_.trace == nullptr) return then();
  options_.trace->add(record, then);
}

std::optional<Refusal> Recorder::stopped() {
  if (options_.trace == nullptr || options_.trace->accepts()) return std::nullopt;
  return Refusal{Refusal::Kind::kUnavailable,
                 "the trace cannot be written, and nothing runs without it; ask the operator", "",
                 std::chrono::seconds(5)};
}

trace::TracedPolicy Recorder::policy_of(const std::string& name) {
  const auto known = policy_hashes_.find(name);
  if (known != policy_hashes_.end()) return {name, known->second, 0};
  if (policy_hashes_.size() > 64) policy_hashes_.clear();  // names are the client's
  std::string hash = options_.policy_sha256 ? options_.policy_sha256(name) : "";
  return {name, policy_hashes_[name] = std::move(hash), 0};
}

std::unique_ptr<Service> make_service(boost::asio::io_context& loop, const Home& home,
                                      const ServiceOptions& options) {
  SessionsOptions sessions;
  sessions.default_policy = options.default_policy;
  sessions.metrics = options.metrics;
  sessions.preloaded = options.preloaded;
  Recorder::Options recorder;
  recorder.default_policy = options.default_policy;
  recorder.metrics = options.metrics;
  recorder.trace = options.trace;
  recorder.policy_sha256 = [folder = home.policies,
                            own = options.default_policy](const std::string& name) {
    return policy_sha256(folder, own, name);
  };
  return std::make_unique<Recorder>(
      loop, std::make_unique<Sessions>(loop, home, std::move(sessions)), std::move(recorder));
}

}  // namespace runner
