// sandglass mcp: the Model Context Protocol over stdin and stdout, until stdin ends.
#include "runner/cli/mcp.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>

#include "jail/fd.h"
#include "jail/host.h"
#include "policies/load.h"
#include "runner/cli/arithmetic.h"
#include "runner/cli/command.h"
#include "runner/cli/parser.h"
#include "runner/cli/print.h"
#include "runner/cli/serve_notes.h"
#include "runner/cli/trace_options.h"
#include "runner/mcp/desk.h"
#include "runner/mcp/stdio.h"
#include "runner/service_factory.h"
#include "runner/session/driver.h"
#include "runner/session/home.h"
#include "runner/text.h"

namespace runner::cli {
namespace {

struct McpOptions {
  std::optional<std::string> policy;
  TraceOptions trace{"mcp", TraceOptions::Without::kOff};
};

int serve(const jail::Fd& out, const Home& home, const std::string& policy, mcp::Options options,
          const std::optional<trace::Options>& trace_options) {
  boost::asio::io_context loop(1);
  // Before all that is released at the end: whoever asks twice must not cut that short.
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  if (minds_hangup()) signals.add(SIGHUP);
  std::unique_ptr<trace::Trace> trace;
  if (trace_options) {
    auto opened = trace::Trace::open(loop, *trace_options);
    if (!opened) return print_error(opened.error());
    trace = std::move(*opened);
  }
  const auto service = make_service(loop, home, {policy, nullptr, note_preloaded, trace.get()});
  mcp::Desk desk(loop, *service, std::move(options));
  mcp::StdioOptions ends;
  ends.in = STDIN_FILENO;
  ends.out = out.get();
  const auto stdio = std::make_shared<mcp::Stdio>(loop, desk, ends, [&loop] { loop.stop(); });
  signals.async_wait([&stdio](const auto& error, int /*signal*/) {
    if (error) return;
    take_no_more_signals();
    stdio->stop();
  });
  for (const std::string& line : host_notes(jail::inspect_host())) note(line);
  note("speaking MCP on stdin and stdout under the policy " + printable(policy));
  stdio->start();
  loop.run();
  return 0;
}

}  // namespace

Result<mcp::Options> mcp_options(std::span<const policies::Policy> policies,
                                 const std::string& name) {
  mcp::Options options;
  options.version = SANDGLASS_VERSION;
  const policies::Policy* chosen = &policies.back();
  for (const policies::Policy& policy : policies) {
    if (policy.name == "restricted") {
      const auto grammar = arithmetic_options(policy);
      if (!grammar) return tl::unexpected(grammar.error());
      options.grammar = *grammar;
    }
    if (policy.name == name) chosen = &policy;
  }
  options.facts.policy = chosen->name;
  options.facts.wall_time = duration_text(chosen->limits.wall_time);
  options.facts.idle = duration_text(chosen->session.idle);
  options.facts.languages.clear();
  for (const auto& [language, interpreter] : chosen->interpreters) {
    if (has_driver(language)) options.facts.languages.push_back(language);
  }
  return options;
}

int mcp_command(const Words& words) {
  McpOptions given;
  Parser parser("mcp", "Speaks the Model Context Protocol on stdin and stdout until stdin ends.",
                "sandglass mcp [OPTIONS]");
  parser.text("--policy", given.policy, "of the sessions (standard)", "P");
  given.trace.add_to(parser);
  if (const auto code = parser.parse(words.ours)) return *code;
  auto read = given.trace.read();
  if (!read) return print_error(read.error());
  const auto trace_options = given.trace.is_on() ? std::optional(std::move(*read)) : std::nullopt;
  const std::string name = given.policy.value_or("standard");
  const auto home = find_home();
  if (!home) return print_error(home.error());
  const auto library = policies::Library::open(home->policies);
  if (!library) return print_error({ErrorKind::kPolicy, library.error().text, std::nullopt});
  std::vector<policies::Policy> policies;
  for (const std::string& wanted : {std::string("restricted"), name}) {
    auto policy = library->find(wanted);
    if (!policy) return print_error({ErrorKind::kPolicy, policy.error().text, std::nullopt});
    policies.push_back(std::move(*policy));
  }
  auto options = mcp_options(policies, name);
  if (!options) return print_error(options.error());
  // Stdout is the protocol's. Whatever else is ever printed in this process goes to stderr.
  const jail::Fd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!out.valid() || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return print_error({ErrorKind::kHost, "no descriptor is left: raise ulimit -n", std::nullopt});
  }
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);  // as `serve`, for the trace
  for (const std::string& line : weakening_notes(policies)) note(line);
  note(given.trace.describe());
  return serve(out, *home, name, std::move(*options), trace_options);
}

}  // namespace runner::cli
