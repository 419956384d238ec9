// What probes are run against: a jail under a policy, no sandbox at all (the control), or another
// sandbox's command line. run() blocks and may be called from several threads at once.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/error.h"
#include "runner/reach/outside.h"
#include "runner/reach/probe.h"

namespace runner::reach {

// One run of one probe.
struct Attempt {
  const Probe* probe = nullptr;
  // What the suite has set up outside, as the probe's environment: "REACH_CANARY=/var/tmp/...".
  std::vector<std::string> env;
  std::string tag;  // unique in this run of the suite; fit for a file's name
};

// What came of an attempt, before anybody has judged it.
struct Answer {
  std::optional<Error> error;     // it could not be run at all
  std::string out;                // stdout, at most 64 KiB
  std::string err;                // stderr, likewise
  int wait_status = 0;            // wait4(2); meaningless if !exited
  bool exited = false;            // false: everything was killed first
  std::optional<Layer> ended_by;  // the sandbox's own word for why it killed: kRlimit, kCgroup ...
  // Layers that the sandbox itself saw refusing something: kSeccomp, where it is told of refusals.
  std::vector<Layer> refused_by;
  bool cut = false;  // more output came than was passed on
  // Of By::kHost: what came along with the files that were fetched and should not have; "":
  // nothing.
  std::string leaked;
};

// It could not be run.
inline Answer failed(Error error) {
  Answer answer;
  answer.error = std::move(error);
  return answer;
}

class Subject {
 public:
  Subject() = default;
  virtual ~Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  Subject(Subject&&) = delete;
  Subject& operator=(Subject&&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;  // "tight", "no sandbox", "bwrap ..."
  [[nodiscard]] virtual std::string mode() const = 0;  // "exec", "join"
  // Which probes it can run; the others are left out of the report.
  [[nodiscard]] virtual bool can_run(const Probe& probe) const = 0;
  // What is declared for it; nullopt where nothing is.
  [[nodiscard]] virtual std::optional<Verdict> expected(const Probe& probe) const = 0;
  // Where probes see the helper.
  [[nodiscard]] virtual std::string helper(const Outside& outside) const {
    return outside.helper();
  }
  virtual Answer run(const Attempt& attempt) = 0;
};

// <dir of the program>/../lib/sandglass/sandglass-reach: one static program, `sandglass-reach ID`
// prints one line "REACHED detail" or "BLOCKED reason". kFiles if it is missing.
Result<std::string> helper_path();

// The words that carry a probe out where there is no interpreter of a policy's: the helper with the
// probe's id, or /usr/bin/python3 with its code.
std::vector<std::string> plain_command(const std::string& helper, const Probe& probe);

// The verdict that an answer amounts to.
Observation judge(const Probe& probe, const Answer& answer);

}  // namespace runner::reach
