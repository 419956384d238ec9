// sandglass replay RECORD: runs recorded executions again and says whether they come out the same.
#include "runner/replay/replay.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <map>

#include "policies/explain.h"
#include "policies/load.h"
#include "runner/cli/arithmetic.h"
#include "runner/cli/command.h"
#include "runner/cli/parser.h"
#include "runner/cli/print.h"
#include "runner/cli/replay_json.h"
#include "runner/service/sessions.h"
#include "runner/session/home.h"
#include "runner/text.h"
#include "runner/trace/digest.h"
#include "runner/wire/evaluate_json.h"

namespace runner::cli {
namespace {

struct ReplayOptions {
  std::optional<std::string> record;
  std::optional<std::string> folder;
  std::optional<std::string> policy;
  bool alone = false;
  bool anyway = false;
  bool json = false;

  [[nodiscard]] Form form() const { return json ? Form::kJson : Form::kText; }
};

// The policies as they are now, by the names that records have.
class Policies {
 public:
  Policies(const policies::Library& library, std::optional<std::string> own)
      : library_(library), own_(std::move(own)) {}

  Result<void> read_own() {
    if (!own_) return {};
    auto policy = library_.find(*own_);
    if (!policy) return fail(ErrorKind::kPolicy, policy.error().text);
    found_[policy->name] = *policy;
    own_name_ = policy->name;
    return {};
  }
  const policies::Policy* find(const std::string& name) {
    const auto known = found_.find(name);
    if (known != found_.end()) return &known->second;
    const std::vector<std::string> names = library_.names();
    if (std::find(names.begin(), names.end(), name) == names.end()) return nullptr;
    auto policy = library_.find(name);
    if (!policy) return nullptr;
    return &(found_[name] = std::move(*policy));
  }
  [[nodiscard]] bool is_own(const std::string& name) const { return own_ && name == own_name_; }

 private:
  const policies::Library& library_;
  std::optional<std::string> own_;
  std::string own_name_;
  std::map<std::string, policies::Policy> found_;
};

replay::World world_of(boost::asio::io_context& loop, Service& service, Policies& policies) {
  return {loop, service,
          [&policies](const std::string& name) -> std::optional<replay::PolicyNow> {
            const policies::Policy* policy = policies.find(name);
            if (policy == nullptr) return std::nullopt;
            return replay::PolicyNow{trace::sha256(policies::show(*policy)),
                                     policy->limits.memory.value};
          },
          [&policies](const std::string& name) -> std::optional<std::string> {
            if (policies.is_own(name)) return std::nullopt;
            return name;
          },
          [&policies](const std::string& body) -> Answer<runner::Evaluation> {
            const policies::Policy* policy = policies.find("restricted");
            const auto grammar = policy != nullptr
                                     ? arithmetic_options(*policy)
                                     : Result<arithmetic::Options>(fail(ErrorKind::kPolicy, ""));
            if (!grammar) return refuse(Refusal::Kind::kUnavailable, "no policy restricted here");
            return wire::evaluate(body, *grammar);
          }};
}

void print_one(const replay::Replayed& one) {
  const trace::Record& record = *one.record;
  std::string line = replay::verdict_text(one.verdict);
  line.resize(10, ' ');
  if (record.seq > 0) line += std::to_string(record.seq) + ". ";
  line += printable(record.title.empty() ? record.id : record.title);
  if (!one.text.empty()) line += "  (" + printable(one.text) + ")";
  put(line + "\n");
  for (const replay::Difference& difference : one.differences)
    put("            " + replay::text_of(difference) + "\n");
}

int exit_code_of(const std::vector<replay::Replayed>& all) {
  const auto any = [&](replay::Verdict verdict) {
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& one) { return one.verdict == verdict; });
  };
  if (any(replay::Verdict::kFailed)) return kFailed;
  if (any(replay::Verdict::kDifferent)) return kDifferent;
  return any(replay::Verdict::kSame) ? 0 : kRefused;
}

void print_sum(const std::vector<replay::Replayed>& all) {
  std::string line;
  for (int i = 0; i <= static_cast<int>(replay::Verdict::kFailed); ++i) {
    const auto verdict = static_cast<replay::Verdict>(i);
    const auto count = std::count_if(all.begin(), all.end(),
                                     [&](const auto& one) { return one.verdict == verdict; });
    if (count == 0 && i > 0) continue;
    line += (line.empty() ? "" : ", ") + std::to_string(count) + " " + verdict_text(verdict);
  }
  put(line + "\n");
}

int replay_selection(const replay::Selection& selection, const ReplayOptions& options,
                     const Home& home, Policies& policies) {
  boost::asio::io_context loop(1);
  SessionsOptions sessions;
  sessions.default_policy = options.policy.value_or("standard");
  sessions.warm = 1;
  Sessions service(loop, home, std::move(sessions));
  const replay::World world = world_of(loop, service, policies);
  const std::vector<std::string> problems = replay::find_problems(selection, world);
  for (const std::string& problem : problems) note(problem);
  if (!problems.empty() && !options.anyway) {
    note("nothing was run; --anyway runs it as well as can be");
    if (options.json) put(replay_json({}, problems) + "\n");
    return kRefused;
  }
  const auto all = replay::run(selection, world, [&](const replay::Replayed& one) {
    if (!options.json) print_one(one);
  });
  if (options.json)
    put(replay_json(all, problems) + "\n");
  else
    print_sum(all);
  return exit_code_of(all);
}

void add_options(Parser& parser, ReplayOptions& options) {
  parser.text("record", options.record,
              "FILE, FILE:LINE or - for stdin: lines of a trace; or exec_..., eval_..., cntr_...",
              "RECORD");
  parser.text("--trace", options.folder,
              "the folder that serve was given: where ids are looked for, and inputs", "DIR");
  parser.text("--policy", options.policy, "the file of a recorded policy that is none of ours",
              "FILE");
  parser.flag("--alone", options.alone, "the one execution, without what came before it");
  parser.flag("--anyway", options.anyway,
              "run under a changed policy, or without inputs that are gone");
  parser.flag("--json", options.json, "one JSON document at the end");
}

}  // namespace

int replay_command(const Words& words) {
  ReplayOptions options;
  Parser parser(
      "replay",
      "Runs recorded executions again: the session from its beginning up to the one that "
      "is named. Exit code 0: all came out the same; 1: something did not; 4: nothing was run, "
      "since a policy or an input has changed or nothing in it can be; 125: it could not be run.",
      "sandglass replay [OPTIONS] RECORD");
  add_options(parser, options);
  if (const auto code = parser.parse(words.ours)) return *code;
  if (!options.record)
    return print_error({ErrorKind::kUsage,
                        "replay: no record; give FILE, FILE:LINE, -, or an id and --trace DIR",
                        {}},
                       options.form());
  const auto home = find_home();
  if (!home) return print_error(home.error(), options.form());
  const auto library = policies::Library::open(home->policies);
  if (!library) return print_error({ErrorKind::kPolicy, library.error().text, {}}, options.form());
  Policies policies(*library, options.policy);
  if (const auto own = policies.read_own(); !own) return print_error(own.error(), options.form());
  const auto selection =
      replay::select({*options.record, options.folder.value_or(""), options.alone});
  if (!selection) return print_error(selection.error(), options.form());
  (void)std::signal(SIGPIPE, SIG_IGN);
  return replay_selection(*selection, options, *home, policies);
}

}  // namespace runner::cli
