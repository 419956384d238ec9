// sandglass: picks the command. What each does stands in cli/.
#include <algorithm>
#include <array>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "jail/error.h"
#include "runner/cli/command.h"
#include "runner/cli/print.h"
#include "runner/session/caller_fd.h"
#include "runner/text.h"

namespace {

namespace cli = runner::cli;

struct Entry {
  std::string_view name;
  std::string_view help;
  int (*run)(const cli::Words&);
};

constexpr std::array kCommands = {
    Entry{"run", "code in a jail: python, node, bash, perl ...", cli::run_command},
    Entry{"exec", "any command in a jail", cli::exec_command},
    Entry{"eval", "one arithmetic expression, or many: no process is started", cli::eval_command},
    Entry{"serve", "the HTTP API: sessions, files, executions", cli::serve_command},
    Entry{"probe", "what code can reach under a policy, and what stops it", cli::probe_command},
    Entry{"compare", "two policies, or another sandbox, side by side", cli::compare_command},
    Entry{"replay", "run what a trace recorded again, and say whether it comes out the same",
          cli::replay_command},
    Entry{"mcp", "the same for one client, as an MCP server on stdin and stdout", cli::mcp_command},
    Entry{"policy", "list, show, check and explain policies", cli::policy_command},
    Entry{"doctor", "what this host can and cannot give", cli::doctor_command},
    Entry{"demo", "a real answer from real code, and three refusals", cli::demo_command},
};

std::string help() {
  std::string text =
      "Sandglass runs code that nobody has read.\n\n"
      "Usage: sandglass COMMAND [OPTIONS]\n\n";
  for (const Entry& entry : kCommands) {
    text += "  " + std::string(entry.name) + std::string(9 - entry.name.size(), ' ') +
            std::string(entry.help) + "\n";
  }
  return text +
         "\nsandglass COMMAND --help says more. For example:\n"
         "  sandglass run -c 'print(1 + 1)'\n"
         "  sandglass exec -- ls -l /\n"
         "  sandglass eval '38.50 + 41.00'\n";
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    cli::put(help());
    return words.empty() ? cli::kFailed : 0;
  }
  if (words[0] == "--version") {
    cli::put("sandglass " SANDGLASS_VERSION "\n");
    return 0;
  }
  const auto entry = std::find_if(kCommands.begin(), kCommands.end(),
                                  [&](const Entry& e) { return e.name == words[0]; });
  if (entry == kCommands.end()) {
    cli::note("no command " + runner::printable(words[0]) + "; sandglass --help lists them");
    return cli::kFailed;
  }
  return entry->run(cli::split_words({words.begin() + 1, words.end()}));
}

}  // namespace

int main(int argc, char** argv) {
  runner::ensure_stdio();
  try {
    const int code = dispatch({argv + std::min(argc, 1), argv + argc});
    return cli::put_error() == 0 ? code : cli::lost_output(cli::put_error());
  } catch (const boost::system::system_error& error) {  // no descriptors for an event loop, mostly
    const int code = error.code().value();
    // EBADF: Boost gave up on a descriptor that it could not make.
    const bool few = code == EMFILE || code == ENFILE || code == EBADF;
    cli::note("cannot go on: " + jail::errno_name(code) +
              (few ? "; raise ulimit -n" : "; try again"));
    return cli::kFailed;
  } catch (const std::exception& error) {  // out of memory, mostly
    cli::note(std::string("cannot go on: ") + error.what() + "; try again");
    return cli::kFailed;
  }
}
