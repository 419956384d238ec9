// The options that `run` and `exec` share, from words to a Job. Main thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runner/cli/command.h"
#include "runner/cli/parser.h"
#include "runner/cli/print.h"
#include "runner/error.h"
#include "runner/session/job.h"
#include "runner/session/one_shot.h"

namespace runner::cli {

struct SharedOptions {
  std::optional<std::string> policy;  // absent: standard
  std::vector<std::string> in;
  std::optional<std::string> out;
  std::vector<std::string> env;
  std::vector<std::string> ro_bind;
  bool json = false;
  // limits, as written
  std::optional<std::string> memory;
  std::optional<std::string> cpu_time;
  std::optional<std::string> wall_time;
  std::optional<std::string> processes;
  std::optional<std::string> file_size;
  std::optional<std::string> workdir_size;
  std::optional<std::string> output;

  [[nodiscard]] Form form() const { return json ? Form::kJson : Form::kText; }
};

void add_shared_options(Parser& parser, SharedOptions& options);

// Reads limits, environment, binds and input files into `job`. kUsage, kFiles.
Result<void> fill_job(Job& job, const SharedOptions& options);

// Runs the job and prints what there is to print. Returns the exit code.
// `otherwise` may answer in place of the error of a job that did not start: it gives the exit code.
using Otherwise = std::function<std::optional<int>(const policies::Library&, const Error&)>;
int run_and_report(OneShot& one_shot, const Home& home, Job job, const SharedOptions& options,
                   InputFrom input, const Otherwise& otherwise = {});

}  // namespace runner::cli
