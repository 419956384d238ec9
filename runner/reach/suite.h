// Runs the catalogue against a subject, and against no sandbox for comparison, side by side.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runner/error.h"
#include "runner/reach/control.h"
#include "runner/reach/outside.h"
#include "runner/reach/report.h"
#include "runner/reach/subject.h"

namespace runner::reach {

enum class Whys : std::uint8_t { kNo, kYes };

struct SuiteOptions {
  std::vector<std::string> only;     // ids or names; empty: all
  std::vector<Category> categories;  // empty: all
  unsigned parallel = 0;             // 0: as many as there are processors, and four more
  Whys whys = Whys::kNo;             // find out which layers stop what is blocked
  // Called after each probe, from any of the suite's threads, one at a time.
  std::function<void(std::size_t done, std::size_t total)> progress;

  // By its id or name, and by its category.
  [[nodiscard]] bool wants(const Probe& probe) const;
};

// kUsage: the first word that is no probe's id or name.
Result<void> are_known(const std::vector<std::string>& words);

// kUsage: a probe that does not exist, or none that the subject can run; or it was interrupted
// (interrupt.h).
// `control` may be null: no control arm, and no whys.
Result<Report> run_suite(const Outside& outside, Subject& subject, Control* control,
                         const SuiteOptions& options);

// Which layers stop it alone, and whether it gets through without just these. `run` gives what
// becomes of the probe behind some layers and no others.
using Behind = std::function<Observation(const std::vector<Layer>& layers)>;
Why find_why(const Probe& probe, const std::vector<Layer>& seen, const Behind& run);

}  // namespace runner::reach
