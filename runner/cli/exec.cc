// sandglass exec [options] -- COMMAND...: any command in a jail.
#include "runner/cli/options.h"
#include "runner/text.h"

namespace runner::cli {

namespace {

// "exec -- ls -l", or "exec ls -l": what follows the first word that is no option of ours.
Result<std::vector<std::string>> command_of(const CLI::App& app, const Words& words) {
  std::vector<std::string> command = app.remaining();
  if (!command.empty() && command.front().starts_with('-')) {
    return fail(ErrorKind::kUsage,
                "exec: no option " + printable(command.front()) + "; see sandglass exec --help");
  }
  if (words.program) {
    if (!command.empty()) command.push_back("--");
    command.insert(command.end(), words.program->begin(), words.program->end());
  }
  if (command.empty()) {
    return fail(ErrorKind::kUsage,
                "exec: no command; write it after --, for example sandglass exec -- ls -l");
  }
  return command;
}

}  // namespace

int exec_command(const Words& words) {
  SharedOptions options;
  CLI::App app("Runs a command in a jail.", "exec");
  app.prefix_command();
  add_shared_options(app, options);
  if (const auto code = parse(app, "sandglass exec [OPTIONS] -- COMMAND [ARGS...]", words.ours)) {
    return *code;
  }
  auto command = command_of(app, words);
  if (!command) return print_error(command.error(), options.form());
  const auto home = find_home();
  if (!home) return print_error(home.error(), options.form());
  OneShot one_shot(*home);  // before anything else: start-ups overlap
  Job job;
  job.what = Program{std::move(*command)};
  if (const auto filled = fill_job(job, options); !filled) {
    return print_error(filled.error(), options.form());
  }
  return run_and_report(one_shot, *home, std::move(job), options, InputFrom::kCaller);
}

}  // namespace runner::cli
