// sandglass eval EXPR | --batch: the restricted mode. No process is started, no code is run.
#include <unistd.h>

#include <algorithm>

#include "runner/arithmetic/sources.h"
#include "runner/cli/arithmetic.h"
#include "runner/cli/command.h"
#include "runner/cli/eval_batch.h"
#include "runner/cli/parser.h"
#include "runner/session/content.h"
#include "runner/session/home.h"
#include "runner/text.h"

namespace runner::cli {
namespace {

constexpr jail::Bytes kMaxText = jail::mib(64);

struct EvalOptions {
  std::optional<std::string> policy;
  std::optional<std::string> sources;
  bool batch = false;
  bool json = false;
  std::vector<std::string> expressions;

  [[nodiscard]] Form form() const { return json ? Form::kJson : Form::kText; }
};

// "--json" and "-h" are options; "-1+2", "--1" and "-x" are expressions, and "-" is stdin.
bool is_option(const std::string& word) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return word == "-h" || (word.starts_with("--") && word.size() > 2 && is_letter(word[2]));
}

// Moves what is no option into `options.expressions`; returns the options.
std::vector<std::string> take_expressions(const Words& words, EvalOptions& options) {
  std::vector<std::string> rest;
  bool value_follows = false;
  for (const std::string& word : words.ours) {
    const bool belongs = value_follows || is_option(word);
    value_follows = !value_follows && (word == "--policy" || word == "--sources");
    (belongs ? rest : options.expressions).push_back(word);
  }
  if (words.program) {
    options.expressions.insert(options.expressions.end(), words.program->begin(),
                               words.program->end());
  }
  return rest;
}

// The text says what is wrong; empty: nothing.
std::string refuse(const EvalOptions& options) {
  if (options.batch && options.sources) return "--sources goes with one expression, not --batch";
  if (options.batch && !options.expressions.empty()) {
    return "--batch reads its expressions from stdin; leave out " +
           printable(options.expressions.front());
  }
  if (!options.batch && options.expressions.empty()) {
    return "no expression; for example sandglass eval '38.50 + 41.00', or - for stdin";
  }
  if (options.expressions.size() > 1) {
    return "more than one expression; quote it: sandglass eval '38.50 + 41.00'";
  }
  return "";
}

Result<arithmetic::Options> find_options(const EvalOptions& options) {
  const auto home = find_home();
  if (!home) return tl::unexpected(home.error());
  const auto library = policies::Library::open(home->policies);
  if (!library) return fail(ErrorKind::kPolicy, library.error().text);
  const auto policy = library->find(options.policy.value_or("restricted"));
  if (!policy) return fail(ErrorKind::kPolicy, policy.error().text);
  return arithmetic_options(*policy);
}

Result<std::string> read_expression(const std::string& word) {
  if (word != "-") return word;
  const auto content = content_of_stream(STDIN_FILENO, "stdin", kMaxText);
  if (!content) return tl::unexpected(content.error());
  return text_of(*content);
}

Result<std::vector<arithmetic::Source>> read_sources(const std::string& path) {
  const auto content = content_of_file(path, kMaxText);
  if (!content) return tl::unexpected(content.error());
  const auto text = text_of(*content);
  if (!text) return tl::unexpected(text.error());
  auto sources = arithmetic::sources_from_json(*text);
  if (sources) return std::move(*sources);
  return fail(ErrorKind::kFiles, printable(path) + ": " + printable(sources.error()) +
                                     "; write [{\"cite\": \"[1]\", \"text\": \"...\"}, ...]");
}

void note_sources(const arithmetic::SourceReport& report) {
  const auto add = [](std::string& list, const std::string& word) {
    list += (list.empty() ? "" : ", ") + printable(word);
  };
  for (const arithmetic::NumberReport& number : report.numbers) {
    std::string cites;
    for (const std::string& cite : number.cites) add(cites, cite);
    if (!cites.empty()) note(printable(number.number) + " is in " + cites);
  }
  std::string unsourced;
  for (const std::string& number : report.unsourced) add(unsourced, number);
  if (!unsourced.empty()) note("in no source: " + unsourced);
}

int evaluate_one(const EvalOptions& options, const arithmetic::Options& allowed) {
  const auto text = read_expression(options.expressions.front());
  if (!text) return print_error(text.error(), options.form());
  std::optional<arithmetic::SourceReport> report;
  if (options.sources) {
    const auto sources = read_sources(*options.sources);
    if (!sources) return print_error(sources.error(), options.form());
    report = arithmetic::check_sources(*text, *sources);
  }
  const arithmetic::Verdict verdict = arithmetic::evaluate(*text, allowed);
  if (options.json) {
    const std::string line =
        report ? arithmetic::to_json(verdict, *report) : arithmetic::to_json(verdict);
    if (const int error = try_put(line + "\n")) return lost_output(error);
    return exit_code_of(verdict);
  }
  const int code = print_verdict(verdict);
  if (report) note_sources(*report);
  return code;
}

}  // namespace

int eval_command(const Words& words) {
  EvalOptions options;
  Parser parser("eval",
                "Evaluates arithmetic and refuses everything else; nothing is run. Exit code 0 for "
                "a value, 3 for an empty text or NONE, 4 for a refusal.",
                "sandglass eval [OPTIONS] EXPR | - | --batch");
  parser.flag("--batch", options.batch, "JSON strings from stdin, one a line; a verdict for each");
  parser.text("--sources", options.sources,
              "say which of these texts hold which number: [{\"cite\": \"[1]\", \"text\": ...}]",
              "FILE");
  parser.text("--policy", options.policy, "whose [arithmetic] holds (restricted)", "P");
  parser.flag("--json", options.json, "print the verdict as one line of JSON");
  const std::vector<std::string> rest = take_expressions(words, options);
  if (const auto code = parser.parse(rest)) return *code;
  if (const std::string wrong = refuse(options); !wrong.empty()) {
    return print_error({ErrorKind::kUsage, "eval: " + wrong}, options.form());
  }
  const auto allowed = find_options(options);
  if (!allowed) return print_error(allowed.error(), options.form());
  return options.batch ? evaluate_batch(*allowed) : evaluate_one(options, *allowed);
}

}  // namespace runner::cli
