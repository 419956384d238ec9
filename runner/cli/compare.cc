// sandglass compare A B: what two policies leave in reach, or a policy and another sandbox of this
// host (--under), side by side: a table, JSON, or a page.
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <optional>

#include "policies/load.h"
#include "runner/cli/command.h"
#include "runner/cli/out_file.h"
#include "runner/cli/parser.h"
#include "runner/cli/print.h"
#include "runner/reach/compare_json.h"
#include "runner/reach/compare_text.h"
#include "runner/reach/control.h"
#include "runner/reach/html.h"
#include "runner/reach/interrupt.h"
#include "runner/reach/jail_subject.h"
#include "runner/reach/static_reach.h"
#include "runner/reach/suite.h"
#include "runner/reach/under.h"
#include "runner/session/home.h"
#include "runner/text.h"
#include "runner/wire/outcome_json.h"

namespace runner::cli {
namespace {

using reach::Side;

struct CompareOptions {
  std::optional<std::string> a;
  std::optional<std::string> b;
  std::vector<std::string> under;
  std::vector<std::string> only;
  bool read_only = false;
  bool whys = false;
  bool json = false;
  std::optional<std::string> html;
};

// One side: a policy's name or path, or the words of another sandbox.
struct Wanted {
  std::string policy;
  std::vector<std::string> sandbox;
};

constexpr const char* kUsage =
    "sandglass compare A B, or sandglass compare A --under 'bwrap ... --'";

Result<std::vector<Wanted>> wanted(const CompareOptions& options) {
  std::vector<Wanted> sides;
  for (const auto& name : {options.a, options.b}) {
    if (name) sides.push_back({*name, {}});
  }
  for (const std::string& text : options.under) {
    auto words = reach::split_command(text);
    if (!words) return tl::unexpected(words.error());
    sides.push_back({"", std::move(*words)});
  }
  if (sides.size() != 2) {
    return fail(ErrorKind::kUsage, "compare takes two sides: " + std::string(kUsage));
  }
  return sides;
}

// What both sides share.
struct Bench {
  const Home& home;
  const policies::Library& library;
  const CompareOptions& options;
  std::unique_ptr<reach::Outside> outside;  // null: nothing is run
};

Result<reach::Report> run_probes(const Bench& bench, reach::Subject& subject,
                                 reach::Control* control) {
  reach::SuiteOptions options;
  options.only = bench.options.only;
  options.whys = control != nullptr ? reach::Whys::kYes : reach::Whys::kNo;
  const bool shows = ::isatty(STDERR_FILENO) == 1;
  if (shows) {
    const std::string name = printable(subject.name());
    options.progress = [name](std::size_t done, std::size_t total) {
      (void)std::fprintf(stderr, "\r\x1b[K  %s: %zu of %zu probes", name.c_str(), done, total);
    };
  }
  auto report = reach::run_suite(*bench.outside, subject, control, options);
  if (shows) (void)std::fputs("\r\x1b[K", stderr);
  return report;
}

Result<reach::Surface> surface_of(const Bench& bench, const Wanted& wanted) {
  if (!wanted.sandbox.empty()) {
    auto calls = reach::all_calls(bench.library.syscalls(), reach::Opening::kUnknown);
    if (!calls) return tl::unexpected(calls.error());
    return reach::measure_under(*bench.outside, wanted.sandbox, std::move(*calls));
  }
  const auto policy = bench.library.find(wanted.policy);
  if (!policy) return fail(ErrorKind::kPolicy, policy.error().text);
  return reach::static_reach(*policy, bench.library.syscalls());
}

Result<reach::Report> probe_policy(const Bench& bench, const std::string& name) {
  const auto plans = reach::prepare_plans(bench.home, bench.library, name, *bench.outside);
  if (!plans) return tl::unexpected(plans.error());
  const auto subject = reach::make_jail_subject(bench.home, bench.library, *plans);
  if (!subject) return tl::unexpected(subject.error());
  std::unique_ptr<reach::Control> control;
  if (bench.options.whys) {
    auto made = reach::Control::make(*bench.outside, &*plans);
    if (!made) return tl::unexpected(made.error());
    control = std::move(*made);
  }
  return run_probes(bench, **subject, control.get());
}

Result<reach::Report> probe_sandbox(const Bench& bench, const std::vector<std::string>& sandbox) {
  const auto subject = reach::make_under(*bench.outside, sandbox);
  if (!subject) return tl::unexpected(subject.error());
  return run_probes(bench, **subject, nullptr);
}

// None where nothing is started that could be probed.
Result<std::optional<reach::Report>> report_of(const Bench& bench, const Wanted& wanted) {
  if (bench.options.read_only) return std::nullopt;
  if (wanted.sandbox.empty()) {
    const auto policy = bench.library.find(wanted.policy);
    if (policy && policy->mode == policies::Mode::kRestricted) return std::nullopt;
  }
  auto report = wanted.sandbox.empty() ? probe_policy(bench, wanted.policy)
                                       : probe_sandbox(bench, wanted.sandbox);
  if (!report) return tl::unexpected(report.error());
  return std::move(*report);
}

reach::Stamp stamp() {
  utsname name{};
  (void)::uname(&name);
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 32> text{};
  if (now == -1 || ::gmtime_r(&now, &utc) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &utc) == 0) {
    text[0] = '\0';
  }
  return {SANDGLASS_VERSION, std::string(name.sysname) + " " + name.release, text.data()};
}

int print(const reach::Comparison& comparison, const CompareOptions& options,
          std::optional<OutFile>& page) {
  const Form form = options.json ? Form::kJson : Form::kText;
  if (page) {
    const auto written = page->write(reach::compare_html(comparison, stamp()));
    if (!written) return print_error(written.error(), form);
    note("the page is " + printable(*options.html));
  }
  if (options.json) {
    put(wire::ascii_escaped(reach::compare_json(comparison)) + "\n");
  } else if (!page) {
    const bool colours = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
    put(reach::compare_text(comparison, colours ? reach::Colours::kOn : reach::Colours::kOff));
  }
  return 0;
}

// Two of one name could not be told apart.
void number_twins(Side& a, Side& b) {
  if (a.surface.subject != b.surface.subject) return;
  a.surface.subject += " (A)";
  b.surface.subject += " (B)";
}

Result<reach::Comparison> compare_sides(const Home& home, const CompareOptions& options) {
  const auto sides = wanted(options);
  if (!sides) return tl::unexpected(sides.error());
  const auto library = policies::Library::open(home.policies);
  if (!library) return fail(ErrorKind::kPolicy, library.error().text);
  if (const auto known = reach::are_known(options.only); !known)
    return tl::unexpected(known.error());
  Bench bench{home, *library, options, nullptr};
  if (!options.read_only || !options.under.empty()) {
    auto outside = reach::Outside::make();
    if (!outside) return tl::unexpected(outside.error());
    bench.outside = std::move(*outside);
  }
  // What is wrong with either side is told before minutes go into the other.
  std::vector<Side> found;
  for (const Wanted& wanted : *sides) {
    auto surface = surface_of(bench, wanted);
    if (reach::is_interrupted()) return reach::interrupted();
    if (!surface) return tl::unexpected(surface.error());
    found.push_back({std::move(*surface), std::nullopt});
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto report = report_of(bench, sides->at(i));
    if (reach::is_interrupted()) return reach::interrupted();
    if (!report) return tl::unexpected(report.error());
    found[i].report = std::move(*report);
  }
  number_twins(found[0], found[1]);
  return reach::compare(std::move(found[0]), std::move(found[1]));
}

}  // namespace

int compare_command(const Words& words) {
  CompareOptions options;
  Parser parser("compare", "What two policies, or a policy and another sandbox, leave in reach.",
                kUsage);
  parser.text("a", options.a, "a policy: its name, or the path of a file", "A");
  parser.text("b", options.b, "the other one", "B");
  parser.repeated("--under", options.under,
                  "another sandbox: the command that runs a command in it; {helper} is where the "
                  "program lies that it must show",
                  "COMMAND");
  parser.repeated("--only", options.only, "this probe only; may be given again", "ID");
  parser.flag("--read-only", options.read_only,
              "run no probe: what can be read off the policies, at once");
  parser.flag("--why", options.whys, "find out which layers stop each probe; takes longer");
  parser.flag("--json", options.json, "one JSON document");
  parser.text("--html", options.html, "write a page that needs nothing else", "FILE");
  if (const auto code = parser.parse(words.ours)) return *code;
  const Form form = options.json ? Form::kJson : Form::kText;
  const auto home = find_home();
  if (!home) return print_error(home.error(), form);
  std::optional<OutFile> page;
  if (options.html) {
    auto opened = OutFile::open("--html", *options.html);
    if (!opened) return print_error(opened.error(), form);
    page.emplace(std::move(*opened));
  }
  const auto comparison = compare_sides(*home, options);
  if (!comparison) return print_error(comparison.error(), form);
  return print(*comparison, options, page);
}

}  // namespace runner::cli
