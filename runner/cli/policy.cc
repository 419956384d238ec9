// sandglass policy list | show P | check FILE | explain P [--path X]
#include <algorithm>

#include "jail/bpf.h"
#include "policies/compile.h"
#include "policies/explain.h"
#include "policies/load.h"
#include "runner/cli/options.h"
#include "runner/session/home.h"
#include "runner/text.h"

namespace runner::cli {
namespace {

Error policy_error(const policies::Error& error) {
  return {ErrorKind::kPolicy, error.text, std::nullopt};
}

// How many system calls the compiled filter can say yes to; 0 where no process is started.
Result<int> reachable(const policies::Policy& policy, const policies::SyscallTable& table) {
  if (policy.mode == policies::Mode::kRestricted) return 0;
  const auto spec = policies::to_spec(policy, table, {});
  if (!spec) return tl::unexpected(policy_error(spec.error()));
  const auto program = jail::compile_filter(spec->filter);
  if (!program) {
    return tl::unexpected(
        Error{ErrorKind::kSetup, jail::describe(program.error(), &*spec), program.error()});
  }
  return static_cast<int>(jail::reachable_syscalls(*program).size());
}

int list(const policies::Library& library) {
  int code = 0;
  std::size_t width = 0;
  for (const std::string& name : library.names()) width = std::max(width, name.size());
  for (const std::string& name : library.names()) {
    const auto policy = library.find(name);
    if (!policy) {
      code = print_error(policy_error(policy.error()));
      continue;
    }
    put(name + std::string(width - name.size() + 2, ' ') + policy->why + "\n");
  }
  return code;
}

int show(const policies::Library& library, const std::string& name) {
  const auto policy = library.find(name);
  if (!policy) return print_error(policy_error(policy.error()));
  put(policies::show(*policy));
  return 0;
}

int check(const policies::Library& library, const std::string& file) {
  const bool is_path = file.find('/') != std::string::npos || file.ends_with(".toml");
  const auto policy = library.find(is_path ? file : "./" + file);
  if (!policy) return print_error(policy_error(policy.error()));
  const auto count = reachable(*policy, library.syscalls());
  if (!count) return print_error(count.error());
  put(printable(file) + ": a sound policy, \"" + policy->name + "\": " + std::to_string(*count) +
      " reachable system calls\n");
  return 0;
}

int explain(const policies::Library& library, const std::string& name,
            const std::optional<std::string>& path) {
  const auto policy = library.find(name);
  if (!policy) return print_error(policy_error(policy.error()));
  if (path) {
    put(printable(policies::explain_path(*policy, *path).text) + "\n");
    return 0;
  }
  const auto count = reachable(*policy, library.syscalls());
  if (!count) return print_error(count.error());
  const auto text = policies::explain(*policy, library.syscalls(), *count);
  if (!text) return print_error(policy_error(text.error()));
  put(*text);
  return 0;
}

}  // namespace

int policy_command(const Words& words) {
  std::string name;
  std::optional<std::string> path;
  CLI::App app("Lists, shows, checks and explains policies.", "policy");
  app.require_subcommand(1);
  CLI::App* list_app = app.add_subcommand("list", "names, and what each is for");
  CLI::App* show_app = app.add_subcommand("show", "the resolved policy as TOML");
  show_app->add_option("P", name, "name or path")->required();
  CLI::App* check_app = app.add_subcommand("check", "reads a file and says what is wrong with it");
  check_app->add_option("FILE", name, "a .toml file")->required();
  CLI::App* explain_app = app.add_subcommand("explain", "what code under it can and cannot do");
  explain_app->add_option("P", name, "name or path")->required();
  explain_app->add_option_function<std::string>(
      "--path", [&path](const std::string& text) { path = text; }, "what the jail shows of a path");
  if (const auto code = parse(
          app, "sandglass policy list | show P | check FILE | explain P [--path PATH]", words.ours))
    return *code;

  const auto home = find_home();
  if (!home) return print_error(home.error());
  const auto library = policies::Library::open(home->policies);
  if (!library) return print_error(policy_error(library.error()));
  if (list_app->parsed()) return list(*library);
  if (show_app->parsed()) return show(*library, name);
  if (check_app->parsed()) return check(*library, name);
  return explain_app->parsed() ? explain(*library, name, path) : kFailed;
}

}  // namespace runner::cli
