// Runs recorded executions again: a session from its beginning, in order, with the same files,
// input, time limit and policy; and says of each whether it came out the same. Drives the event
// loop itself. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runner/replay/compare.h"
#include "runner/replay/select.h"
#include "runner/service.h"

namespace runner::replay {

struct PolicyNow {
  std::string sha256;              // as a record has it
  std::uint64_t memory_bytes = 0;  // of the policy itself
};

struct World {
  boost::asio::io_context& loop;
  Service& service;
  // The policy of this name as it is now; nullopt: there is none. And what the service is to be
  // given as its name; nullopt: its default.
  std::function<std::optional<PolicyNow>(const std::string& name)> policy;
  std::function<std::optional<std::string>(const std::string& name)> policy_name;
  // An evaluation, again: {"expression": ..., "sources": ...} to the reply.
  std::function<Answer<Evaluation>(const std::string& body)> evaluate;
};

enum class Verdict : std::uint8_t {
  kSame,
  kDifferent,
  kSkipped,  // it did not run, or was stopped at a moment that nobody recorded
  kFailed,   // Sandglass could not run it
};
const char* verdict_text(Verdict verdict) noexcept;

struct Replayed {
  const trace::Record* record = nullptr;  // of the selection
  Verdict verdict = Verdict::kSame;
  std::string text;  // why, where skipped or failed
  std::vector<Difference> differences;
};

// What keeps the selection from running as it did: changed policies, inputs that are gone or
// changed, records that are missing; one line each. Nothing is run.
std::vector<std::string> find_problems(const Selection& selection, const World& world);

// Runs all of it; `told` hears of each as it ends. What find_problems() found is run as well as can
// be: under the policy as it is now, without the files that are gone.
std::vector<Replayed> run(const Selection& selection, const World& world,
                          const std::function<void(const Replayed&)>& told);

}  // namespace runner::replay
