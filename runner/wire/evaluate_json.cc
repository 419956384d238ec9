#include "runner/wire/evaluate_json.h"

#include "runner/arithmetic/sources.h"
#include "runner/text.h"
#include "runner/wire/request_fields.h"

namespace runner::wire {

namespace {

Ending ending_of(const arithmetic::Verdict& verdict) {
  switch (verdict.decision) {
    case arithmetic::Decision::kValue:
      return Ending::kOk;
    case arithmetic::Decision::kDeclined:
      return Ending::kDecline;
    case arithmetic::Decision::kRefused:
      break;
  }
  return Ending::kRefusal;
}

}  // namespace

Answer<Evaluation> evaluate(std::string_view body, const Grammar& grammar) {
  const auto object = parse_object(body);
  if (!object) return tl::unexpected(object.error());
  Fields fields(*object);
  auto expression = fields.text("expression", std::size_t{1} << 20U);
  if (!expression) fields.refuse("expression", "is missing");
  const json::array* list = fields.array("sources", 1000);
  if (auto wrong = fields.refusal()) return tl::unexpected(*wrong);
  const arithmetic::Verdict verdict = arithmetic::evaluate(*expression, grammar);
  Evaluation evaluation;
  evaluation.ending = ending_of(verdict);
  evaluation.text = std::string(evaluation.ending == Ending::kOk ? verdict.value : verdict.message);
  if (list == nullptr) {
    evaluation.reply = arithmetic::to_json(verdict);
  } else {
    evaluation.sources = json::serialize(*list);
    const auto sources = arithmetic::sources_from_json(*evaluation.sources);
    if (!sources)
      return invalid("'sources' must be [{\"cite\": TEXT, \"text\": TEXT}, ...]: " +
                         printable(sources.error()),
                     "sources");
    evaluation.reply =
        arithmetic::to_json(verdict, arithmetic::check_sources(*expression, *sources));
  }
  evaluation.expression = std::move(*expression);
  return evaluation;
}

Answer<std::string> evaluate_json(std::string_view body, const Grammar& grammar) {
  auto evaluation = wire::evaluate(body, grammar);
  if (!evaluation) return tl::unexpected(evaluation.error());
  return std::move(evaluation->reply);
}

}  // namespace runner::wire
