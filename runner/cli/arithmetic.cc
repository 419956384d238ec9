#include "runner/cli/arithmetic.h"

#include "runner/cli/command.h"
#include "runner/session/content.h"

namespace runner::cli {
namespace {

using arithmetic::Decision;
using arithmetic::Verdict;

constexpr const char* kDeclinedText = "the text is empty or NONE";

Word word_of(const Verdict& verdict) {
  switch (verdict.decision) {
    case Decision::kValue:
      return Word::kOk;
    case Decision::kRefused:
      return Word::kRefused;
    case Decision::kDeclined:
      return Word::kDeclined;
  }
  return Word::kRefused;
}

// One sentence; empty for a value.
std::string text_of(const Verdict& verdict) {
  if (verdict.decision == Decision::kValue) return "";
  if (verdict.decision == Decision::kDeclined) return kDeclinedText;
  if (verdict.hint.empty()) return verdict.message.str();
  return verdict.message.str() + "; " + verdict.hint.str();
}

int print_report(const Verdict& verdict, const Evaluation& evaluation) {
  const std::string value = verdict.value.empty() ? "" : verdict.value.str() + "\n";
  wire::Report report;
  report.policy = evaluation.policy;
  report.language = "arithmetic";
  report.outcome.word = word_of(verdict);
  report.outcome.exit_code = exit_code_of(verdict);
  report.outcome.text = text_of(verdict);
  report.outcome.out.produced = value.size();
  report.out = value;
  report.verdict = &verdict;
  report.fallback = evaluation.fallback;
  if (const int error = try_put(wire::to_json(report) + "\n")) return lost_output(error);
  return exit_code_of(verdict);
}

}  // namespace

Result<arithmetic::Options> arithmetic_options(const policies::Policy& policy) {
  if (policy.mode != policies::Mode::kRestricted) {
    return fail(ErrorKind::kPolicy,
                "the policy \"" + policy.name +
                    "\" starts processes; arithmetic goes by one with mode = \"restricted\"");
  }
  auto options = arithmetic::make_options(policy.arithmetic.operators, policy.arithmetic.functions);
  if (!options) {
    return fail(ErrorKind::kPolicy, "policy \"" + policy.name + "\": " + options.error());
  }
  return *options;
}

int exit_code_of(const Verdict& verdict) {
  switch (verdict.decision) {
    case Decision::kValue:
      return 0;
    case Decision::kRefused:
      return kRefused;
    case Decision::kDeclined:
      return kDeclined;
  }
  return kFailed;
}

int print_verdict(const Verdict& verdict) {
  if (verdict.decision != Decision::kValue) {
    note(std::string(word_text(word_of(verdict))) + ": " + text_of(verdict));
    return exit_code_of(verdict);
  }
  if (const int error = try_put(verdict.value.str() + "\n")) return lost_output(error);
  if (!verdict.note.empty()) note("note: " + std::string(verdict.note));
  return 0;
}

int evaluate_and_report(const jail::Fd& code, const Evaluation& evaluation) {
  const auto text = runner::text_of(code);
  if (!text) return print_error(text.error(), evaluation.form);
  const Verdict verdict = arithmetic::evaluate(*text, evaluation.options);
  if (evaluation.fallback) {
    note("only arithmetic is evaluated (fallback): this host cannot make the jail of \"" +
         evaluation.policy + "\": " + *evaluation.fallback);
  }
  if (evaluation.form == Form::kJson) return print_report(verdict, evaluation);
  return print_verdict(verdict);
}

std::optional<int> fall_back(const policies::Library& library, const std::string& policy,
                             const Error& error, const jail::Fd& code, Form form) {
  if (!host_cannot(error)) return std::nullopt;
  const auto asked = library.find(policy);
  if (!asked || !asked->fallback) return std::nullopt;
  const auto instead = library.find(*asked->fallback);
  if (!instead) return print_error({ErrorKind::kPolicy, instead.error().text}, form);
  const auto options = arithmetic_options(*instead);
  if (!options) return print_error(options.error(), form);
  return evaluate_and_report(code, {asked->name, *options, error.text, form});
}

}  // namespace runner::cli
