// sandglass probe: what can code reach under a policy, on this host, and what stops it. Exit code
// 0: all as declared; 1: something that must be blocked was reached, or is not as declared; 125:
// we failed.
#include <unistd.h>

#include <optional>

#include "policies/load.h"
#include "runner/cli/command.h"
#include "runner/cli/out_file.h"
#include "runner/cli/paint.h"
#include "runner/cli/parser.h"
#include "runner/cli/print.h"
#include "runner/http/tokens.h"
#include "runner/reach/door.h"
#include "runner/reach/jail_subject.h"
#include "runner/reach/suite.h"
#include "runner/session/home.h"
#include "runner/text.h"

namespace runner::cli {
namespace {

using namespace runner::reach;

struct Options {
  std::optional<std::string> policy;
  std::vector<std::string> only;
  std::vector<std::string> categories;
  std::optional<std::string> mode;
  std::optional<std::string> junit;
  std::optional<std::string> server;
  std::optional<std::string> token_file;
  bool json = false;
  bool why = false;
  bool list = false;

  [[nodiscard]] Form form() const { return json ? Form::kJson : Form::kText; }
};

void progress(std::size_t done, std::size_t total) {
  constexpr std::size_t kWidth = 40;
  const std::size_t filled = done * kWidth / total;
  const std::string line = "\r[" + std::string(filled, '#') + std::string(kWidth - filled, ' ') +
                           "] " + std::to_string(done) + " of " + std::to_string(total) + " probes";
  const std::string text = done < total ? line : "\r\033[K";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

void list_one(const Probe& probe) {
  const Paint paint;
  put(paint.bold(std::string(probe.id)) + "  " + std::string(probe.name) + ": it " +
      std::string(probe.tries) +
      paint.dim("  [" + std::string(category_text(probe.category)) + "; " +
                std::string(probe.source) + "]") +
      "\n");
}

Result<Report> probe_server(const Options& options) {
  DoorOptions door;
  door.url = *options.server;
  door.only = options.only;
  if (::isatty(STDERR_FILENO) == 1) door.progress = progress;
  if (options.policy || options.mode || options.why || !options.categories.empty())
    return fail(
        ErrorKind::kUsage,
        "--server tries a server's door: --policy, --mode, --why and --category go without");
  if (options.token_file) {
    const auto tokens = http::Tokens::read(*options.token_file);
    if (!tokens) return tl::unexpected(tokens.error());
    door.tokens = tokens->words();
  }
  return run_door_suite(door);
}

Result<SuiteOptions> suite_options(const Options& options) {
  SuiteOptions suite;
  suite.only = options.only;
  suite.whys = options.why ? Whys::kYes : Whys::kNo;
  if (::isatty(STDERR_FILENO) == 1) suite.progress = progress;
  for (const std::string& word : options.categories) {
    const auto category = category_of(word);
    if (category) {
      suite.categories.push_back(*category);
      continue;
    }
    std::string known;
    for (const Category one : kCategories)
      known += (known.empty() ? "" : ", ") + std::string(category_text(one));
    return fail(ErrorKind::kUsage,
                "--category " + printable(word) + ": no such category; there are " + known);
  }
  return suite;
}

int list_probes(const Options& options) {
  const auto suite = suite_options(options);
  if (!suite) return print_error(suite.error(), options.form());
  if (options.json || options.junit || options.why || options.policy || options.mode ||
      options.token_file)
    return print_error({ErrorKind::kUsage,
                        "--list runs nothing: it goes with --only, --category and --server",
                        {}},
                       options.form());
  std::size_t listed = 0;
  const auto list = [&](std::span<const Probe> probes) {
    for (const Probe& probe : probes) {
      if (!suite->wants(probe)) continue;
      list_one(probe);
      ++listed;
    }
  };
  if (!options.server) list(catalogue());
  list(server_catalogue());
  if (listed > 0) return 0;
  return print_error({ErrorKind::kUsage, "no probe is of that id, name or category", {}},
                     options.form());
}

Result<Report> probe_policy(const Home& home, const policies::Library& library,
                            const Options& options) {
  const auto suite = suite_options(options);
  if (!suite) return tl::unexpected(suite.error());
  const std::string mode = options.mode.value_or("exec");
  if (mode != "exec" && mode != "join")
    return fail(ErrorKind::kUsage, "--mode " + printable(mode) + ": give exec or join");
  const auto outside = Outside::make();
  if (!outside) return tl::unexpected(outside.error());
  const auto plans = prepare_plans(home, library, options.policy.value_or("standard"), **outside);
  if (!plans) return tl::unexpected(plans.error());
  const auto control = Control::make(**outside, &*plans);
  if (!control) return tl::unexpected(control.error());
  const auto subject = mode == "exec" ? make_jail_subject(home, library, *plans)
                                      : make_session_subject(home, *plans);
  if (!subject) return tl::unexpected(subject.error());
  auto report = run_suite(**outside, **subject, control->get(), *suite);
  if (report && !plans->shipped)
    report->notes.push_back(plans->declared.empty()
                                ? "no shipped policy is its parent: what loose blocks must be "
                                  "blocked"
                                : "its parent is " + plans->declared +
                                      ": what that blocks must be blocked");
  return report;
}

// Returns the exit code. A report is told, whatever becomes of the file.
int tell(const Result<Report>& report, const Options& options, std::optional<OutFile>& junit) {
  if (!report) return print_error(report.error(), options.form());
  if (options.json) {
    put(wire::ascii_escaped(report_json(*report)) + "\n");
  } else {
    const bool colours = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
    put(report_text(*report, colours ? Colours::kOn : Colours::kOff));
  }
  if (junit)
    if (const auto written = junit->write(report_junit(*report)); !written)
      return print_error(written.error());
  return reach::exit_code(*report);
}

}  // namespace

int probe_command(const Words& words) {
  Options options;
  Parser parser("probe",
                "Tries some 250 ways out of a jail on this host, each harmless, and says what was "
                "reached, what was not, and what stopped it.",
                "sandglass probe [--policy P] [--only ID] [--category C] [--mode exec|join] "
                "[--why] [--json] [--junit FILE], or sandglass probe --server URL");
  parser.text("--policy", options.policy, "standard unless given; a name or a file", "P");
  parser.repeated("--only", options.only, "a probe's id or name; may be repeated", "ID");
  parser.repeated("--category", options.categories,
                  "files, processes, kernel, network, resources, information, protocol, door", "C");
  parser.text("--mode", options.mode, "exec: as sandglass exec; join: as sessions start", "MODE");
  parser.flag("--why", options.why,
              "find out which layers stop each probe, by trying each alone: takes a minute");
  parser.text("--server", options.server,
              "try the door of this server instead: http://127.0.0.1:8611 or unix:PATH", "URL");
  parser.text("--token-file", options.token_file,
              "the server's; with two clients in it, one is tried against the other", "FILE");
  parser.flag("--list", options.list, "name all probes, run none");
  parser.flag("--json", options.json, "one JSON document");
  parser.text("--junit", options.junit, "write a JUnit file as well", "FILE");
  if (const auto code = parser.parse(words.ours)) return *code;
  if (words.program)
    return print_error({ErrorKind::kUsage, "probe takes no command; leave out --", {}},
                       options.form());
  if (options.list) return list_probes(options);
  if (options.token_file && !options.server)
    return print_error({ErrorKind::kUsage, "--token-file goes with --server", {}}, options.form());
  std::optional<OutFile> junit;
  if (options.junit) {
    auto opened = OutFile::open("--junit", *options.junit);
    if (!opened) return print_error(opened.error(), options.form());
    junit.emplace(std::move(*opened));
  }
  if (options.server) return tell(probe_server(options), options, junit);
  const auto home = find_home();
  if (!home) return print_error(home.error(), options.form());
  const auto library = policies::Library::open(home->policies);
  if (!library)
    return print_error({ErrorKind::kPolicy, library.error().text, std::nullopt}, options.form());
  return tell(probe_policy(*home, *library, options), options, junit);
}

}  // namespace runner::cli
