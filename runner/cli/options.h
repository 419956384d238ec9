// The options that `run` and `exec` share, from words to a Job. Main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/cli/command.h"
#include "runner/cli/print.h"
#include "runner/error.h"
#include "runner/session/job.h"
#include "runner/session/one_shot.h"

namespace runner::cli {

struct SharedOptions {
  std::string policy = "standard";
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

void add_shared_options(CLI::App& app, SharedOptions& options);

// Parses words; nullopt: go on. Otherwise the exit code: help was printed (0) or the words are
// wrong (125, with one line on stderr). `usage` heads the help.
std::optional<int> parse(CLI::App& app, const char* usage, const std::vector<std::string>& words);

// Reads limits, environment, binds and input files into `job`. kUsage, kFiles.
Result<void> fill_job(Job& job, const SharedOptions& options);

// Runs the job and prints what there is to print. Returns the exit code.
int run_and_report(OneShot& one_shot, const Home& home, Job job, const SharedOptions& options,
                   InputFrom input);

}  // namespace runner::cli
