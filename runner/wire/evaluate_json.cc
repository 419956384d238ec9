#include "runner/wire/evaluate_json.h"

#include "runner/arithmetic/sources.h"
#include "runner/text.h"
#include "runner/wire/request_fields.h"

namespace runner::wire {

Answer<std::string> evaluate_json(std::string_view body, const Grammar& grammar) {
  const auto object = parse_object(body);
  if (!object) return tl::unexpected(object.error());
  Fields fields(*object);
  const auto expression = fields.text("expression", std::size_t{1} << 20U);
  if (!expression) fields.refuse("expression", "is missing");
  const json::array* list = fields.array("sources", 1000);
  if (auto wrong = fields.refusal()) return tl::unexpected(*wrong);
  const arithmetic::Verdict verdict = arithmetic::evaluate(*expression, grammar);
  if (list == nullptr) return arithmetic::to_json(verdict);
  const auto sources = arithmetic::sources_from_json(json::serialize(*list));
  if (!sources) {
    return invalid(
        "'sources' must be [{\"cite\": TEXT, \"text\": TEXT}, ...]: " + printable(sources.error()),
        "sources");
  }
  return arithmetic::to_json(verdict, arithmetic::check_sources(*expression, *sources));
}

}  // namespace runner::wire
