// What is to be run, and under what: from words to what the spawner is told. A Job is what a
// command line or request asks for; `prepare` checks it against a policy and the host, and makes
// the plan, the command and the inputs. No process is started here. Blocking file I/O; any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "jail/fd.h"
#include "jail/spec.h"
#include "policies/compile.h"
#include "policies/load.h"
#include "policies/narrow.h"
#include "runner/error.h"
#include "runner/session/home.h"
#include "runner/session/workdir.h"

namespace runner {

// Code in a language that the policy declares.
struct Code {
  std::string language;   // as given: "python3", or empty: by `file_name`, else python
  std::string file_name;  // "plot.mjs": only its ending is looked at; may be empty
  jail::Fd content;
  std::vector<std::string> args;
};

struct Program {
  std::vector<std::string> argv;  // at least one
};

struct InFile {
  std::string name;  // in the workdir; no "/"
  jail::Fd content;
};

struct Job {
  std::string policy = "standard";  // a name or a path
  policies::Wish wish;
  policies::Extras extras;
  std::vector<std::string> env;  // "K=V", checked by check_env
  std::variant<Code, Program> what;
  std::vector<InFile> files;
};

// Everything a launch needs; owns what an ExecutionRequest points to.
struct Prepared {
  policies::Policy policy;  // narrowed
  std::optional<std::string> language;
  std::string program;  // argv[0], for messages
  jail::Spec spec;
  jail::Fd plan;
  jail::Fd command;
  std::vector<jail::Fd> inputs;
  std::vector<std::string> input_paths;  // absolute, inside; same order

  // The inputs that lie in the workdir. Valid as long as this object stays where it is.
  [[nodiscard]] std::vector<KnownInput> known_inputs() const;
};

Result<Prepared> prepare(const Home& home, const policies::Library& library, Job job);

// The jail's whole environment: ours, the interpreter's, the operator's. Never our caller's.
std::vector<std::string> environment_of(const policies::Policy& policy,
                                        const policies::Interpreter* interpreter,
                                        const std::vector<std::string>& extra);

// "K=V" with a proper name, and none by which the environment changes how programs are loaded.
Result<void> check_env(const std::string& assignment);

// "SRC" or "SRC:DST" of --ro-bind.
Result<policies::Bind> parse_bind(const std::string& text);

// "python3" -> "python", "js" -> "node"; unknown words come back as they are.
std::string canonical_language(const std::string& word);

// By a file name's ending, as the policy's interpreters declare them; empty for an unknown one.
std::string language_of_file(const policies::Policy& policy, const std::string& name);

}  // namespace runner
