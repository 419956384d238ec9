// sandglass run [options] [-c CODE | FILE | -] [-- ARGS...]: code in a language of the policy.
#include <unistd.h>

#include "runner/cli/options.h"
#include "runner/session/content.h"

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

}  // namespace

int run_command(const Words& words) {
  const auto home = find_home();
  if (!home) return print_error(home.error());
  std::optional<OneShot> one_shot;  // before anything else: the start-ups overlap
  if (!words.ask_for_help()) one_shot.emplace(*home);
  RunOptions options;
  Parser parser("run", "Runs code in a jail.",
                "sandglass run [OPTIONS] [-c CODE | FILE | -] [-- ARGS...]");
  add_options(parser, options);
  if (const auto code = parser.parse(words.ours)) return *code;
  const Form form = options.shared.form();
  auto content = read_code(options);
  if (!content) return print_error(content.error(), form);

  const bool from_stdin = options.file && *options.file == "-";
  Job job;
  Code code{options.language.value_or(""), options.file.value_or(""), std::move(*content), {}};
  if (words.program) code.args = *words.program;
  job.what = std::move(code);
  if (const auto filled = fill_job(job, options.shared); !filled) {
    return print_error(filled.error(), form);
  }
  return run_and_report(*one_shot, *home, std::move(job), options.shared,
                        from_stdin ? InputFrom::kNothing : InputFrom::kCaller);
}

}  // namespace runner::cli
