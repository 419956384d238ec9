// sandglass run [options] [-c CODE | FILE | -] [-- ARGS...]: code in a language of the policy.
//
// Under a policy of mode = "restricted" no process starts, not even the spawner: the code is
// evaluated as one arithmetic expression.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "runner/cli/arithmetic.h"
#include "runner/cli/options.h"
#include "runner/session/content.h"
#include "runner/text.h"

namespace runner::cli {
namespace {

constexpr jail::Bytes kMaxCode = jail::mib(63);  // the jail's folder for it holds 64 MiB

struct RunOptions {
  SharedOptions shared;
  std::optional<std::string> language;
  std::optional<std::string> code;
  std::optional<std::string> file;
};

void add_options(Parser& parser, RunOptions& options) {
  parser.text("--lang", options.language,
              "python, node, bash, ...; else by FILE's ending, else python", "L");
  parser.text("-c", options.code, "the code itself", "CODE");
  parser.text("file", options.file, "a file with code; - reads it from stdin", "FILE");
  add_shared_options(parser, options.shared);
}

Result<jail::Fd> read_code(const RunOptions& options) {
  if (options.code && options.file) {
    return fail(ErrorKind::kUsage, "run: both -c and a file; give one, and arguments after --");
  }
  if (options.code) return content_of(*options.code);
  if (!options.file) {
    return fail(ErrorKind::kUsage, "run: no code; give -c CODE, a file, or - for stdin");
  }
  if (*options.file == "-") return content_of_stream(STDIN_FILENO, "stdin", kMaxCode);
  return content_of_file(*options.file, kMaxCode);
}

// Whether the words surely ask for a jail: then its spawner may start before anything is read.
// Any other policy may turn out to be one of arithmetic.
bool wants_jail(const Words& words) {
  const auto is_jail = [](const std::string& policy) {
    return policy == "standard" || policy == "tight" || policy == "loose";
  };
  constexpr std::string_view kOption = "--policy";
  for (std::size_t i = 0; i < words.ours.size(); ++i) {
    const std::string& word = words.ours[i];
    if (word == kOption && i + 1 < words.ours.size() && !is_jail(words.ours[i + 1])) return false;
    if (word.starts_with("--policy=") && !is_jail(word.substr(kOption.size() + 1))) return false;
  }
  return !words.ask_for_help();
}

// The first option that only makes sense for a process.
std::string option_of_processes(const RunOptions& options, const Words& words) {
  const SharedOptions& shared = options.shared;
  if (options.language && *options.language != "arithmetic") {
    return "--lang " + printable(*options.language);
  }
  if (words.program && !words.program->empty()) return "-- " + printable(words.program->front());
  if (!shared.in.empty()) return "--in";
  if (shared.out) return "--out";
  if (!shared.env.empty()) return "--env";
  if (!shared.ro_bind.empty()) return "--ro-bind";
  if (shared.memory) return "--memory";
  if (shared.cpu_time) return "--cpu-time";
  if (shared.wall_time) return "--wall-time";
  if (shared.processes) return "--processes";
  if (shared.file_size) return "--file-size";
  if (shared.workdir_size) return "--workdir-size";
  return shared.output ? "--output" : "";
}

// Evaluates where the policy starts no process. Nothing: it does.
Result<std::optional<int>> try_arithmetic(const Home& home, const RunOptions& options,
                                          const Words& words) {
  const auto library = policies::Library::open(home.policies);
  if (!library) return fail(ErrorKind::kPolicy, library.error().text);
  const auto policy = library->find(options.shared.policy.value_or("standard"));
  if (!policy) return fail(ErrorKind::kPolicy, policy.error().text);
  if (policy->mode != policies::Mode::kRestricted) return std::nullopt;
  const std::string wrong = option_of_processes(options, words);
  if (!wrong.empty()) {
    return fail(ErrorKind::kUsage, "run: " + wrong + " means nothing under the policy \"" +
                                       policy->name +
                                       "\", which evaluates arithmetic and starts no process; "
                                       "leave it out, or use --policy standard");
  }
  const auto allowed = arithmetic_options(*policy);
  if (!allowed) return tl::unexpected(allowed.error());
  const auto content = read_code(options);
  if (!content) return tl::unexpected(content.error());
  return evaluate_and_report(*content,
                             {policy->name, *allowed, std::nullopt, options.shared.form()});
}

int run_in_jail(OneShot& one_shot, const Home& home, const RunOptions& options,
                const Words& words) {
  const Form form = options.shared.form();
  auto content = read_code(options);
  if (!content) return print_error(content.error(), form);
  const jail::Fd kept(::fcntl(content->get(), F_DUPFD_CLOEXEC, 3));  // for the fallback
  const bool from_stdin = options.file && *options.file == "-";
  Job job;
  Code code{options.language.value_or(""), options.file.value_or(""), std::move(*content), {}};
  if (words.program) code.args = *words.program;
  job.what = std::move(code);
  if (const auto filled = fill_job(job, options.shared); !filled) {
    return print_error(filled.error(), form);
  }
  const std::string policy = job.policy;
  return run_and_report(one_shot, home, std::move(job), options.shared,
                        from_stdin ? InputFrom::kNothing : InputFrom::kCaller,
                        [&](const policies::Library& library, const Error& error) {
                          return fall_back(library, policy, error, kept, form);
                        });
}

}  // namespace

int run_command(const Words& words) {
  const auto home = find_home();
  if (!home) return print_error(home.error());
  std::optional<OneShot> one_shot;  // before anything else: the start-ups overlap
  if (wants_jail(words)) one_shot.emplace(*home);
  RunOptions options;
  Parser parser("run", "Runs code in a jail.",
                "sandglass run [OPTIONS] [-c CODE | FILE | -] [-- ARGS...]");
  add_options(parser, options);
  parser.hint_at_extras("the program's arguments go after --");
  if (const auto code = parser.parse(words.ours)) return *code;
  if (!one_shot) {
    const auto evaluated = try_arithmetic(*home, options, words);
    if (!evaluated) return print_error(evaluated.error(), options.shared.form());
    if (*evaluated) return **evaluated;
    one_shot.emplace(*home);
  }
  return run_in_jail(*one_shot, *home, options, words);
}

}  // namespace runner::cli
