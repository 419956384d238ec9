#include "runner/arithmetic/arithmetic.h"

#include <algorithm>
#include <array>

#include "runner/arithmetic/evaluator.h"
#include "runner/arithmetic/fast_path.h"
#include "runner/arithmetic/functions.h"
#include "runner/arithmetic/parser.h"
#include "runner/arithmetic/text.h"

namespace runner::arithmetic {
namespace {

void refuse(Verdict& verdict, Refusal refusal, std::initializer_list<std::string_view> message) {
  verdict.decision = Decision::kRefused;
  verdict.refusal = refusal;
  verdict.message.assign(message);
}

void refuse_syntax(Verdict& verdict, std::string_view why) {
  refuse(verdict, Refusal::kSyntax, {"not a valid expression: ", why});
}

// CR LF and CR are line feeds to Python's tokenizer. Returns the text, in `out` if it differs.
std::string_view translate_newlines(std::string_view text,
                                    std::array<char, 4 * kMaxCodePoints>& out) {
  if (text.find('\r') == std::string_view::npos) return text;
  std::size_t size = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool carriage_return = text[at] == '\r';
    if (carriage_return && at + 1 < text.size() && text[at + 1] == '\n') ++at;
    out[size++] = carriage_return ? '\n' : text[at];
  }
  return {out.data(), size};
}

// With line and column from 1, the column in code points.
void refuse_syntax(Verdict& verdict, const Failure& failure, std::string_view text) {
  const std::string_view before = text.substr(0, failure.at);
  const std::size_t start = before.find_last_of('\n') + 1;  // npos + 1 is 0
  const std::size_t column = 1 + survey(before.substr(start)).code_points;
  std::string place = std::to_string(column);
  if (start != 0) {
    place += " of line ";
    place += std::to_string(1 + std::count(before.begin(), before.end(), '\n'));
  }
  refuse(verdict, Refusal::kSyntax,
         {"not a valid expression: ", failure.text, " (column ", place, ")"});
}

// Whether it is short enough and text at all; otherwise the verdict says why not.
bool is_sound(std::string_view stripped, Verdict& verdict) {
  const TextFacts facts = survey(stripped);
  if (facts.code_points > kMaxCodePoints)
    refuse(verdict, Refusal::kLength,
           {"expression is ", std::to_string(facts.code_points), " characters; the limit is ",
            std::to_string(kMaxCodePoints)});
  else if (facts.first_surrogate != std::string_view::npos)
    refuse_syntax(verdict, "a lone surrogate is no text");
  else if (facts.first_nul != std::string_view::npos)
    refuse_syntax(verdict, "it holds a NUL character");
  else
    return true;
  return false;
}

// Apart from the way of nearly all texts, which so has fewer registers to save.
[[gnu::noinline]] void evaluate_stripped(std::string_view stripped, const Options& options,
                                         Verdict& verdict) {
  if (stripped.empty() || is_none(stripped)) return;
  std::array<char, 4 * kMaxCodePoints> buffer;
  std::string_view text = stripped;
  if (stripped.size() > kMaxCodePoints || !is_ascii_line(stripped)) {
    if (!is_sound(stripped, verdict)) return;
    text = translate_newlines(stripped, buffer);
  }
  Tree tree;
  if (const Failure failure = parse(text, tree)) return refuse_syntax(verdict, failure, text);
  walk(text, tree, options, verdict);
}

void append_member(std::string_view name, std::string_view text, std::string& out) {
  if (text.empty()) return;
  out += ", \"";
  out += name;
  out += "\": \"";
  append_json_escaped(text, out);
  out += '"';
}

}  // namespace

[[gnu::noinline]] void refuse_plain(PlainVerdict::Kind kind, Verdict& verdict) {
  if (kind == PlainVerdict::kTooDeep) return refuse(verdict, Refusal::kDepth, {kTooDeepText});
  const bool floats = kind == PlainVerdict::kFloatDivision;
  refuse(verdict, Refusal::kArithmetic, {floats ? kFloatDivisionText : kDivisionText});
}

tl::expected<Options, std::string> make_options(const std::vector<std::string>& operators,
                                                const std::vector<std::string>& functions) {
  static constexpr std::array<std::string_view, 3> kOperators{"%", "//", "**"};
  Options options;
  for (const std::string& name : operators) {
    const auto* found = std::find(kOperators.begin(), kOperators.end(), name);
    if (found == kOperators.end())
      return tl::unexpected<std::string>("unknown operator \"" + name + "\": one of % // **");
    options.operators.set(static_cast<std::size_t>(found - kOperators.begin()));
  }
  for (const std::string& name : functions) {
    const auto function = function_named(name);
    if (!function)
      return tl::unexpected<std::string>("unknown function \"" + name +
                                         "\": one of sqrt round abs min max sum");
    options.functions.set(static_cast<std::size_t>(*function));
  }
  return options;
}

std::string_view to_string(Refusal refusal) {
  static constexpr std::array<std::string_view, 6> kNames{"length", "syntax",     "whitelist",
                                                          "depth",  "not_finite", "arithmetic"};
  return kNames[static_cast<std::size_t>(refusal)];
}

Verdict evaluate(std::string_view text, const Options& options) {
  Verdict verdict;
  const std::string_view stripped = strip(text);
  const PlainVerdict plain = evaluate_plain(stripped, verdict.value.room());
  if (plain.kind == PlainVerdict::kValue) [[likely]] {
    verdict.decision = Decision::kValue;
    verdict.value.fill(static_cast<std::size_t>(plain.end - verdict.value.room()));
  } else if (plain.kind == PlainVerdict::kUnknown) {
    evaluate_stripped(stripped, options, verdict);
  } else {
    refuse_plain(plain.kind, verdict);
  }
  return verdict;
}

Verdict evaluate_in_full(std::string_view text, const Options& options) {
  Verdict verdict;
  evaluate_stripped(strip(text), options, verdict);
  return verdict;
}

std::string to_json(const Verdict& verdict) {
  std::string out;
  append_json(verdict, out);
  return out;
}

void append_json(const Verdict& verdict, std::string& out) {
  switch (verdict.decision) {
    case Decision::kValue:
      out += "{\"value\": \"";
      out += verdict.value;
      out += '"';
      append_member("note", verdict.note, out);
      break;
    case Decision::kRefused:
      out += "{\"refused\": \"";
      out += to_string(verdict.refusal);
      out += '"';
      append_member("message", verdict.message, out);
      append_member("hint", verdict.hint, out);
      break;
    case Decision::kDeclined:
      out += "{\"declined\": true";
      break;
  }
  out += '}';
}

}  // namespace runner::arithmetic
