// sandglass exec [options] -- COMMAND...: any command in a jail.
#include "runner/cli/options.h"

namespace runner::cli {

int exec_command(const Words& words) {
  SharedOptions options;
  CLI::App app("Runs a command in a jail.", "exec");
  add_shared_options(app, options);
  if (const auto code = parse(app, "sandglass exec [OPTIONS] -- COMMAND [ARGS...]", words.ours))
    return *code;
  if (!words.program || words.program->empty()) {
    return print_error({ErrorKind::kUsage,
                        "exec: no command; write it after --, for example "
                        "sandglass exec -- ls -l",
                        std::nullopt},
                       options.form());
  }
  const auto home = find_home();
  if (!home) return print_error(home.error(), options.form());
  OneShot one_shot(*home);  // before anything else: start-ups overlap
  Job job;
  job.what = Program{*words.program};
  if (const auto filled = fill_job(job, options); !filled) {
    return print_error(filled.error(), options.form());
  }
  return run_and_report(one_shot, *home, std::move(job), options, InputFrom::kCaller);
}

}  // namespace runner::cli
