// Runs the catalogue against a subject: sets up what probes look for outside (a canary file,
// listeners, a process), runs the probes side by side, and takes everything away again.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runner/error.h"
#include "runner/reach/report.h"
#include "runner/reach/subject.h"

namespace runner::reach {

struct SuiteOptions {
  std::vector<std::string> only;            // ids or names; empty: all
  std::vector<Category> categories;         // empty: all
  unsigned parallel = 0;                    // 0: as many as there are processors, and two more
  const std::atomic<bool>* stop = nullptr;  // set by a signal: no further probe is started
  // Called after each probe, from any of the suite's threads, one at a time.
  std::function<void(std::size_t done, std::size_t total)> progress;
};

// kUsage: an id that does not exist. kHost: the outside could not be set up. kInterrupted by `stop`
// is an error as well. `control` may be null: no control arm.
Result<Report> run_suite(Subject& subject, Subject* control, const SuiteOptions& options);

// The throw-away unprivileged process without a sandbox. kFiles: a program is missing.
Result<std::unique_ptr<Subject>> make_control();

}  // namespace runner::reach
