// Arbitrary bytes as an expression, as a batch line, as sources. Nothing may crash, the fast path
// must say what the full grammar says, and a batch line gives one line of ASCII.
#include "runner/arithmetic/arithmetic.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runner/arithmetic/evaluator.h"
#include "runner/arithmetic/sources.h"

namespace {

using namespace runner::arithmetic;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_expression(std::string_view text, const Options& options) {
  const Verdict verdict = evaluate(text, options);
  require(to_json(verdict) == to_json(evaluate_in_full(text, options)));
  require((verdict.decision == Decision::kValue) == !verdict.value.empty());
  require((verdict.decision == Decision::kRefused) == !verdict.message.empty());
}

void check_line(std::string_view line) {
  std::string out;
  batch_line(line, {}, out);
  require(out.find('\n') == out.size() - 1);
  for (const char c : out) require(c == '\n' || (c >= ' ' && c <= '~'));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Options kEverything =
      make_options({"%", "//", "**"}, {"sqrt", "round", "abs", "min", "max", "sum"}).value();
  const std::string text(data, data + size);
  check_expression(text, {});
  check_expression(text, kEverything);
  check_line(text);
  check_line("\"" + text + "\"");
  check_sources(text, {{"[1]", text}});
  if (const auto sources = sources_from_json(text)) check_sources("1 + 2.50", *sources);
  return 0;
}
