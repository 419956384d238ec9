// sandglass serve: the HTTP API, until SIGINT or SIGTERM.
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <set>

#include "jail/host.h"
#include "policies/load.h"
#include "runner/cli/arithmetic.h"
#include "runner/cli/command.h"
#include "runner/cli/mcp.h"
#include "runner/cli/parser.h"
#include "runner/cli/print.h"
#include "runner/cli/serve_notes.h"
#include "runner/cli/trace_options.h"
#include "runner/http/server.h"
#include "runner/metrics.h"
#include "runner/reach/gate.h"
#include "runner/reach/interrupt.h"
#include "runner/service_factory.h"
#include "runner/session/home.h"
#include "runner/text.h"
#include "runner/wire/server_json.h"

namespace runner::cli {
namespace {

struct ServeOptions {
  std::optional<std::string> listen;
  std::optional<std::string> token_file;
  std::optional<std::string> policy;
  std::vector<std::string> allow_host;
  TraceOptions trace{"serve", TraceOptions::Without::kInMemory};
  bool unproven = false;

  [[nodiscard]] std::string policy_name() const { return policy.value_or("standard"); }
};

Result<std::vector<policies::Policy>> all_policies(const policies::Library& library,
                                                   const std::string& default_policy) {
  std::vector<policies::Policy> list;
  std::vector<std::string> names = library.names();
  if (std::find(names.begin(), names.end(), default_policy) == names.end()) {
    names.push_back(default_policy);  // a file of the operator's own
  }
  for (const std::string& name : names) {
    auto policy = library.find(name);
    if (!policy) return fail(ErrorKind::kPolicy, policy.error().text);
    list.push_back(std::move(*policy));
  }
  return list;
}

wire::Capabilities capabilities(const std::vector<policies::Policy>& policies,
                                const std::string& default_policy, jail::Bytes max_file,
                                const std::vector<jail::Feature>& host) {
  wire::Capabilities result;
  result.version = SANDGLASS_VERSION;
  result.default_policy = default_policy;
  result.max_file_bytes = max_file.value;
  std::set<std::string> languages;
  for (const policies::Policy& policy : policies) {
    for (const auto& entry : policy.interpreters) languages.insert(entry.first);
  }
  result.languages.assign(languages.begin(), languages.end());
  for (const jail::Feature& feature : host) {
    const char* here = feature.verdict == jail::Verdict::kPresent  ? "yes"
                       : feature.verdict == jail::Verdict::kAbsent ? "no"
                                                                   : "unknown";
    result.host.push_back({feature.name, here, to_utf8(feature.found), feature.lost});
  }
  return result;
}

// Everything the server needs to know before there is a service.
Result<http::ServerOptions> server_options(const ServeOptions& options,
                                           const std::vector<policies::Policy>& policies) {
  http::ServerOptions result;
  result.allowed_hosts = options.allow_host;
  if (options.token_file) {
    auto tokens = http::Tokens::read(*options.token_file);
    if (!tokens) return tl::unexpected(tokens.error());
    result.tokens = std::move(*tokens);
  }
  for (const policies::Policy& policy : policies) {
    if (policy.name != "restricted") continue;
    const auto grammar = arithmetic_options(policy);
    if (!grammar) return tl::unexpected(grammar.error());
    result.grammar = *grammar;
  }
  auto mcp = mcp_options(policies, options.policy_name());
  if (!mcp) return tl::unexpected(mcp.error());
  result.mcp = std::move(*mcp);
  result.policies_json = wire::policies_json(policies, options.policy_name());
  return result;
}

// Beyond this machine nobody is served by a sandbox that has not been tried on this host.
Result<void> prove(const http::Address& address, const ServeOptions& options, const Home& home,
                   const policies::Library& library) {
  // Without tokens it will not start anyway.
  if (address.is_loopback || !options.token_file) return {};
  if (options.unproven) {
    note("--serve-unproven: strangers are served by a sandbox that nobody has tried on this host");
    return {};
  }
  std::vector<std::string> names = library.names();
  if (std::find(names.begin(), names.end(), options.policy_name()) == names.end()) {
    names.push_back(options.policy_name());
  }
  auto proven = reach::prove(home, library, names, [](const reach::Report& report) {
    const reach::Counts counts = reach::count(report);
    note("tried the policy " + printable(report.subject) + ": " + std::to_string(counts.blocked) +
         " probes blocked, " + std::to_string(counts.reached) + " reached" +
         (counts.inconclusive == 0
              ? ""
              : ", " + std::to_string(counts.inconclusive) + " without an answer"));
  });
  // However late it came, whoever asked us to end is not to be served.
  if (proven && reach::is_interrupted()) return reach::interrupted();
  return proven;
}

int run(const http::Address& address, http::ServerOptions server_options,
        const ServeOptions& options, const Home& home,
        const std::vector<policies::Policy>& policies, trace::Options trace_options) {
  boost::asio::io_context loop(1);
  // Before all that is released at the end: whoever asks twice must not cut that short.
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  if (minds_hangup()) signals.add(SIGHUP);
  Metrics metrics;
  std::unique_ptr<trace::Trace> trace;
  if (options.trace.is_on()) {
    auto opened = trace::Trace::open(loop, std::move(trace_options));
    if (!opened) return print_error(opened.error());
    trace = std::move(*opened);
  }
  const auto service =
      make_service(loop, home, {options.policy_name(), &metrics, note_preloaded, trace.get()});
  const std::vector<jail::Feature> host = jail::inspect_host();
  server_options.capabilities =
      capabilities(policies, options.policy_name(), service->max_file(), host);
  auto server = http::Server::listen(loop, *service, metrics, address, std::move(server_options));
  if (!server) return print_error(server.error());
  signals.async_wait([&](const auto& error, int /*signal*/) {
    if (error) return;
    take_no_more_signals();
    note("shutting down");
    (*server)->stop([&loop] { loop.stop(); });
  });
  note(options.trace.describe());
  const Serving serving{(*server)->address(), options.policy_name(),
                        options.token_file.has_value()};
  for (const std::string& line : serving_notes(serving, host)) note(line);
  loop.run();
  return 0;
}

}  // namespace

int serve_command(const Words& words) {
  ServeOptions options;
  Parser parser("serve", "Serves the HTTP API until SIGINT or SIGTERM.",
                "sandglass serve [OPTIONS]");
  parser.text("--listen", options.listen, "ADDRESS:PORT or unix:PATH (127.0.0.1:8611)", "WHERE");
  parser.text("--token-file", options.token_file,
              "who may come in: a line name:token for each; needed beyond this machine", "FILE");
  parser.text("--policy", options.policy, "of containers that name none (standard)", "P");
  parser.repeated("--allow-host", options.allow_host,
                  "a name that requests on loopback may give as their Host", "NAME");
  options.trace.add_to(parser);
  parser.flag(
      "--serve-unproven", options.unproven,
      "beyond this machine: serve strangers without trying first whether the sandbox holds");
  parser.settings_file();
  if (const auto code = parser.parse(words.ours)) return *code;
  auto trace_options = options.trace.read();
  if (!trace_options) return print_error(trace_options.error());
  const auto address = http::parse_address(options.listen.value_or("127.0.0.1:8611"));
  if (!address) return print_error(address.error());
  const auto home = find_home();
  if (!home) return print_error(home.error());
  const auto library = policies::Library::open(home->policies);
  if (!library) return print_error({ErrorKind::kPolicy, library.error().text, std::nullopt});
  const auto policies = all_policies(*library, options.policy_name());
  if (!policies) return print_error(policies.error());
  auto server_options_or = server_options(options, *policies);
  if (!server_options_or) return print_error(server_options_or.error());
  if (auto proven = prove(*address, options, *home, *library); !proven) {
    if (proven.error().kind == ErrorKind::kHost)
      proven.error().text += "; --serve-unproven serves all the same";
    return print_error(proven.error());
  }
  // A client that has gone must not end the server.
  (void)std::signal(SIGPIPE, SIG_IGN);
  // setrlimit(2): nor must a trace file that meets `ulimit -f`; write(2) then says EFBIG.
  (void)std::signal(SIGXFSZ, SIG_IGN);
  for (const std::string& line : weakening_notes(*policies)) note(line);
  return run(*address, std::move(*server_options_or), options, *home, *policies,
             std::move(*trace_options));
}

}  // namespace runner::cli
