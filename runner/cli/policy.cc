// sandglass policy list | show P | check FILE | explain P [--path X]
#include <algorithm>

#include "jail/bpf.h"
#include "policies/compile.h"
#include "policies/explain.h"
#include "policies/load.h"
#include "runner/cli/command.h"
#include "runner/cli/parser.h"
#include "runner/cli/print.h"
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

constexpr const char* kUsage =
    "sandglass policy list | show P | check FILE | explain P [--path PATH]";

// The words after "policy": which of the four, on what.
struct Wanted {
  std::optional<std::string> verb;
  std::optional<std::string> name;
  std::optional<std::string> path;
};

// The text says what is wrong; empty: nothing.
std::string refuse(const Wanted& wanted) {
  if (!wanted.verb) return "list, show, check or explain?";
  const bool is_list = *wanted.verb == "list";
  if (!is_list && *wanted.verb != "show" && *wanted.verb != "check" && *wanted.verb != "explain") {
    return "no \"" + printable(*wanted.verb) + "\"";
  }
  if (!is_list && !wanted.name) return *wanted.verb + " what?";
  if (is_list && wanted.name) return "list takes no name";
  if (wanted.path && *wanted.verb != "explain") return "--path goes with explain";
  return "";
}

}  // namespace

int policy_command(const Words& words) {
  Wanted wanted;
  Parser parser("policy", "Lists, shows, checks and explains policies.", kUsage);
  parser.text("verb", wanted.verb, "list, show, check or explain", "VERB");
  parser.text("name", wanted.name, "a policy's name, or a path to a .toml file", "P");
  parser.text("--path", wanted.path, "what the jail shows of a path", "PATH");
  if (const auto code = parser.parse(words.ours)) return *code;
  const std::string wrong = refuse(wanted);
  if (!wrong.empty()) {
    return print_error({ErrorKind::kUsage, "policy: " + wrong + "; " + kUsage, std::nullopt});
  }
  const auto home = find_home();
  if (!home) return print_error(home.error());
  const auto library = policies::Library::open(home->policies);
  if (!library) return print_error(policy_error(library.error()));
  if (*wanted.verb == "list") return list(*library);
  if (*wanted.verb == "show") return show(*library, *wanted.name);
  if (*wanted.verb == "check") return check(*library, *wanted.name);
  return explain(*library, *wanted.name, wanted.path);
}

}  // namespace runner::cli
