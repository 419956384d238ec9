// What the files of Recorder share: recorder.cc (containers and executions) and recorder_files.cc
// (files, and the trace that is read). Theirs alone.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "runner/service/recorded_run.h"
#include "runner/service/recorder.h"

namespace runner {

struct Recorder::Box {
  std::string id;
  Tenant tenant;
  std::string owner;
  std::string language;
  trace::TracedPolicy policy;
  std::uint64_t last_seq = 0;
  std::map<std::string, trace::TracedFile> inputs;  // by path: put in, and not written over since
  std::chrono::minutes idle{20};
  Clock::time_point touched = Clock::now();
  std::size_t running = 0;
  std::size_t keeping = 0;  // files that were put in and are still being written to the trace
};

struct Recorder::Run {
  Run(trace::Record record, std::shared_ptr<Box> box_in)
      : gathered(std::move(record)), box(std::move(box_in)) {}
  RecordedRun gathered;
  std::shared_ptr<Box> box;  // null: no container
  Clock::time_point start = Clock::now();
};

enum class Of : std::uint8_t { kCreate, kExecution, kEvaluation };

inline void count(Metrics* metrics, Of of, Ending ending) {
  if (metrics == nullptr) return;
  auto& endings = of == Of::kCreate      ? metrics->create_endings
                  : of == Of::kExecution ? metrics->execution_endings
                                         : metrics->evaluation_endings;
  ++endings[ending_text(ending)];
}

// A request that was turned away: by a rule, or since we cannot.
inline Ending ending_of(const Refusal& refusal) {
  return refusal.kind == Refusal::Kind::kUnavailable ? Ending::kError : Ending::kRefusal;
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What was asked, before it is given away.
inline void ask(trace::Record& record, const ExecuteWish& wish) {
  record.code = wish.code;
  record.title = title_of(wish.code);
  record.input = wish.input;
  if (wish.timeout && wish.timeout->count() > 0)
    record.timeout_ms = static_cast<std::uint64_t>(wish.timeout->count());
}

// Of the policy as `policy show` prints it; empty: there is none of this name. By name only, or the
// operator's own path: what a client says opens no file.
std::string policy_sha256(const std::string& folder, const std::string& default_policy,
                          const std::string& name);

}  // namespace runner
