#include "runner/replay/replay.h"

#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "runner/service/recorded_run.h"
#include "runner/text.h"
#include "runner/trace/inputs.h"

namespace runner::replay {
namespace {

using trace::Kind;
using trace::Record;
using Clock = std::chrono::steady_clock;

// Longer than any policy lets code run, and than a prototype takes to load.
constexpr std::chrono::minutes kPatience{30};

bool until(boost::asio::io_context& loop, const std::function<bool()>& holds) {
  const auto end = Clock::now() + kPatience;
  while (!holds()) {
    if (Clock::now() >= end) return false;
    loop.restart();
    loop.run_one_for(std::chrono::milliseconds(200));
  }
  return true;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Replayed skipped(const Record& record, std::string why) {
  return {&record, Verdict::kSkipped, std::move(why), {}};
}

Replayed failed(const Record& record, const std::string& why) {
  return {&record, Verdict::kFailed, why, {}};
}

Replayed compared(const Record& record, const Record& now) {
  Replayed replayed{&record, Verdict::kSame, "", compare(record, now)};
  if (now.ending == Ending::kError) return failed(record, now.text);
  if (!replayed.differences.empty()) replayed.verdict = Verdict::kDifferent;
  return replayed;
}

// Why a record is not run again; empty: it is.
std::string reason_to_skip(const Record& record) {
  if (!record.ran && record.kind != Kind::kEvaluate) return "it did not run: " + record.text;
  if (record.ending == Ending::kStopped)
    return "it was stopped (" + record.outcome + "), at a moment that is not recorded";
  if (record.ending == Ending::kError) return "Sandglass itself failed then: " + record.text;
  return "";
}

ExecuteWish wish_of(const Record& record) {
  ExecuteWish wish;
  wish.code = record.code;
  wish.input = record.input;
  if (record.timeout_ms) wish.timeout = jail::Millis(*record.timeout_ms);
  return wish;
}

// Executes by `start` and gathers what it tells, as the trace did.
using Start = std::function<Answer<std::unique_ptr<ExecutionHandle>>(const ExecutionSink&)>;
Replayed execute(const Record& record, const World& world, const Start& start) {
  struct State {
    RecordedRun run{Record{}};
    std::optional<Record> done;
  };
  const auto state = std::make_shared<State>();
  const auto handle = start([state](const ExecutionEvent& event) {
    if (const auto* finished = std::get_if<Finished>(&event))
      state->done = state->run.finish(*finished);
    else
      state->run.add(event);
  });
  if (!handle) return failed(record, handle.error().text);
  if (!until(world.loop, [&] { return state->done.has_value(); }))
    return failed(record, "it did not end");
  return compared(record, *state->done);
}

Answer<std::string> open_session(const Record& record, const World& world) {
  ContainerWish wish;
  wish.name = "replay";
  wish.policy = world.policy_name(record.policy.name);
  wish.language = record.language;
  const auto now = world.policy(record.policy.name);
  if (now && record.policy.memory_bytes < now->memory_bytes)
    wish.memory = jail::Bytes{record.policy.memory_bytes};
  const auto made = std::make_shared<std::optional<Answer<Container>>>();
  world.service.create("", wish, [made](Answer<Container> answer) { *made = std::move(answer); });
  if (!until(world.loop, [&] { return made->has_value(); }))
    return refuse(Refusal::Kind::kUnavailable, "no session came up");
  if (!**made) return tl::unexpected((**made).error());
  return (**made)->id;
}

// A file goes in again, or out. Nothing: done.
std::optional<Replayed> move_file(const Record& record, const std::string& id,
                                  const Selection& selection, const World& world) {
  for (const trace::TracedFile& file : record.inputs) {
    if (record.kind == Kind::kUpload) {
      const auto kept = trace::kept_input(selection.inputs, file.sha256);
      if (kept.state != trace::Kept::State::kThere)
        return skipped(record, "the input " + printable(file.path) + " is gone");
      const auto put = std::make_shared<std::optional<Answer<File>>>();
      world.service.put_file("", id, base_name(file.path),
                             std::make_shared<const std::string>(kept.content),
                             [put](Answer<File> answer) { *put = std::move(answer); });
      if (!until(world.loop, [&] { return put->has_value(); }))
        return failed(record, "the file did not go in");
      if (!**put) return failed(record, (**put).error().text);
      continue;
    }
    const auto there = world.service.file_at("", id, file.path);
    const auto removed = there ? world.service.remove_file("", id, there->id)
                               : Answer<void>(tl::unexpected(there.error()));
    if (!removed) return skipped(record, "it is not there now: " + removed.error().text);
  }
  return std::nullopt;
}

// A file goes in by its name alone: where the record says that it lay elsewhere, it is none of
// ours.
std::optional<Replayed> find_misplaced(const Record& record, const std::string& id,
                                       const World& world) {
  if (record.kind != Kind::kUpload) return std::nullopt;
  for (const trace::TracedFile& file : record.inputs)
    if (!world.service.file_at("", id, file.path))
      return failed(record, "it did not come to " + printable(file.path));
  return std::nullopt;
}

using Told = std::function<void(Replayed)>;

void run_session(const Part& part, const Selection& selection, const World& world,
                 const Told& told) {
  const auto id = open_session(part.records.front(), world);
  for (const Record& record : part.records) {
    if (!id) {
      told(failed(record, id.error().text));
      continue;
    }
    if (record.kind != Kind::kExecute) {
      auto trouble = move_file(record, *id, selection, world);
      if (!trouble) trouble = find_misplaced(record, *id, world);
      if (trouble) told(std::move(*trouble));
      continue;
    }
    const std::string why = reason_to_skip(record);
    told(!why.empty() ? skipped(record, why)
                      : execute(record, world, [&](const ExecutionSink& sink) {
                          return world.service.execute("", *id, wish_of(record), sink);
                        }));
  }
  if (id) (void)world.service.remove("", *id);
}

Replayed run_once(const Record& record, const Selection& selection, const World& world) {
  if (const std::string why = reason_to_skip(record); !why.empty()) return skipped(record, why);
  OnceWish wish;
  wish.execute = wish_of(record);
  wish.execute.language = record.language;
  wish.policy = world.policy_name(record.policy.name);
  if (record.policy.memory_bytes > 0) wish.memory = jail::Bytes{record.policy.memory_bytes};
  for (const trace::TracedFile& file : record.inputs) {
    auto kept = trace::kept_input(selection.inputs, file.sha256);
    if (kept.state == trace::Kept::State::kThere)
      wish.files.emplace_back(file.path, std::move(kept.content));
  }
  return execute(record, world, [&](const ExecutionSink& sink) {
    return world.service.execute_once("", wish, sink);
  });
}

Replayed run_evaluation(const Record& record, const World& world) {
  boost::json::object body{{"expression", record.code}};
  if (record.input) {
    boost::json::error_code error;
    body["sources"] = boost::json::parse(*record.input, error);
    if (error) return failed(record, "its sources are no JSON");
  }
  const auto answer = world.evaluate(boost::json::serialize(body));
  if (!answer) return failed(record, answer.error().text);
  Record now;
  describe(now, *answer);
  return compared(record, now);
}

}  // namespace

const char* verdict_text(Verdict verdict) noexcept {
  static constexpr std::array<const char*, 4> kWords = {"same", "different", "skipped", "failed"};
  return kWords.at(static_cast<std::size_t>(verdict));
}

std::vector<Replayed> run(const Selection& selection, const World& world,
                          const std::function<void(const Replayed&)>& told) {
  std::vector<Replayed> all;
  const auto add = [&](Replayed one) {
    told(one);
    all.push_back(std::move(one));
  };
  for (const Part& part : selection.parts) {
    const Record& first = part.records.front();
    if (first.kind == Kind::kEvaluate)
      add(run_evaluation(first, world));
    else if (first.kind == Kind::kOnce)
      add(run_once(first, selection, world));
    else
      run_session(part, selection, world, add);
  }
  return all;
}

}  // namespace runner::replay
