#include <boost/json.hpp>

#include "jail/error.h"
#include "runner/reach/report.h"
#include "runner/text.h"

namespace runner::reach {
namespace {

namespace json = boost::json;

json::string_view view(std::string_view text) { return {text.data(), text.size()}; }

json::array names(const std::vector<Layer>& layers) {
  json::array list;
  for (const Layer layer : layers) list.emplace_back(view(layer_text(layer)));
  return list;
}

json::object observation(const Observation& seen) {
  json::object object{{"verdict", view(verdict_text(seen.verdict))},
                      {"detail", to_utf8(seen.detail)}};
  if (seen.error != 0) object["errno"] = jail::errno_name(seen.error);
  return object;
}

json::object row_object(const Row& row) {
  const Probe& probe = *row.probe;
  json::object object = observation(row.got);
  object["id"] = view(probe.id);
  object["name"] = view(probe.name);
  object["category"] = view(category_text(probe.category));
  object["tries"] = view(probe.tries);
  object["source"] = view(probe.source);
  object["layer_expected"] = view(layer_text(probe.stopped_by));
  object["layers_seen"] = names(row.seen);
  if (const Stopped by = stopped(row); by.evidence != Evidence::kNone) {
    object["stopped_by"] = names(by.layers);
    object["evidence"] = view(evidence_text(by.evidence));
  }
  object["as_expected"] = !row.is_wrong();
  if (row.expected) object["expected"] = view(verdict_text(*row.expected));
  if (row.control) {
    object["control"] = observation(*row.control);
    object["proven"] = row.is_proven();
  }
  if (row.why)
    object["why"] = json::object{{"stopped_by", names(row.why->stopped_by)},
                                 {"layers", row.why->stopped_by.size()},
                                 {"untried", names(row.why->untried)},
                                 {"confirmed", row.why->confirmed},
                                 {"others_together", row.why->together}};
  return object;
}

}  // namespace

std::string report_json(const Report& report) {
  json::array rows;
  for (const Row& row : report.rows) rows.push_back(row_object(row));
  const Counts counts = count(report);
  json::array notes;
  for (const std::string& note : report.notes) notes.emplace_back(to_utf8(note));
  const json::object object{{"subject", to_utf8(report.subject)},
                            {"mode", report.mode},
                            {"elapsed_ms", report.elapsed.count()},
                            {"summary", json::object{{"probes", report.rows.size()},
                                                     {"reached", counts.reached},
                                                     {"blocked", counts.blocked},
                                                     {"inconclusive", counts.inconclusive},
                                                     {"not_as_expected", counts.wrong},
                                                     {"holes", counts.holes},
                                                     {"unproven", counts.unproven}}},
                            {"notes", std::move(notes)},
                            {"probes", std::move(rows)}};
  return json::serialize(object);
}

}  // namespace runner::reach
