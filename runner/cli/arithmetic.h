// What `eval` and `run` share where no process may start: one text is evaluated as arithmetic, and
// the verdict is told. Main thread.
#pragma once

#include <optional>
#include <string>

#include "jail/fd.h"
#include "policies/load.h"
#include "runner/arithmetic/arithmetic.h"
#include "runner/cli/print.h"
#include "runner/error.h"

namespace runner::cli {

// What a policy's [arithmetic] adds. kPolicy for a policy that starts processes.
Result<arithmetic::Options> arithmetic_options(const policies::Policy& policy);

// 0 for a value, kDeclined, kRefused.
int exit_code_of(const arithmetic::Verdict& verdict);

// The value on stdout, everything else as one line on stderr. Returns the exit code.
int print_verdict(const arithmetic::Verdict& verdict);

// Evaluates what `run` was given as code.
struct Evaluation {
  std::string policy;  // as it was asked for
  arithmetic::Options options;
  std::optional<std::string> fallback;  // why nothing could be run
  Form form = Form::kText;
};
int evaluate_and_report(const jail::Fd& code, const Evaluation& evaluation);

// Under a policy with fallback = "restricted" on a host that cannot make its jail: evaluates the
// code and says so. Nothing: the error stands.
std::optional<int> fall_back(const policies::Library& library, const std::string& policy,
                             const Error& error, const jail::Fd& code, Form form);

}  // namespace runner::cli
