// One job from start to outcome, for a command line: blocks, minds SIGINT, SIGTERM and SIGHUP, and
// leaves nothing behind. The spawner is started when the object is made, so that its start-up
// overlaps with reading the policy. Main thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/error.h"
#include "runner/session/denied.h"
#include "runner/session/flow.h"
#include "runner/session/home.h"
#include "runner/session/job.h"
#include "runner/session/outcome.h"
#include "runner/session/workdir.h"

namespace runner {

struct OneShotOptions {
  InputFrom input = InputFrom::kNothing;
  OutputTo output_to = OutputTo::kMemory;
  std::optional<std::string> out_dir;  // --out
};

// What came of a job, and everything there is to say about it.
struct JobReport {
  policies::Policy policy;
  std::optional<std::string> language;
  Outcome outcome;
  std::string out;  // with kMemory
  std::string err;
  std::vector<DeniedEntry> denied;
  std::uint64_t denied_total = 0;
  bool denied_throttled = false;
  bool reader_gone = false;
  std::optional<Harvest> files;
  std::optional<Error> late_error;  // the code ran, but its files could not all be delivered
  jail::Hello hello;
};

class OneShot {
 public:
  // Errors of the start come from run().
  explicit OneShot(const Home& home);
  ~OneShot();
  OneShot(const OneShot&) = delete;
  OneShot& operator=(const OneShot&) = delete;
  OneShot(OneShot&&) = delete;
  OneShot& operator=(OneShot&&) = delete;

  // May be called several times, one after the other.
  Result<JobReport> run(const policies::Library& library, Job job, const OneShotOptions& options);

  // Lets the spawner go, while there is something to print. The destructor waits until it is gone.
  void close();

 private:
  struct Loop;  // keeps the event loop's headers out of here
  const Home& home_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace runner
