#include "runner/reach/compare_json.h"

#include <array>
#include <boost/json.hpp>

#include "runner/reach/surface_json.h"
#include "runner/text.h"

namespace runner::reach {
namespace {

namespace json = boost::json;

constexpr std::array kStandings{Standing::kBoth, Standing::kOnlyA, Standing::kOnlyB,
                                Standing::kNeither, Standing::kUnclear};

json::object side(const Side& side) {
  json::object object = surface_json(side.surface);
  object["probes"] = nullptr;
  if (!side.report) return object;
  const Counts counts = count(*side.report);
  object["probes"] =
      json::object{{"mode", side.report->mode}, {"reached", counts.reached},
                   {"blocked", counts.blocked}, {"inconclusive", counts.inconclusive},
                   {"holes", counts.holes},     {"elapsed_ms", side.report->elapsed.count()}};
  return object;
}

json::object verdict(const std::optional<Row>& row, const Stopped& stopped) {
  if (!row) return {{"verdict", nullptr}};
  json::object object{{"verdict", verdict_text(row->got.verdict)},
                      {"detail", to_utf8(row->got.detail)}};
  if (row->control) object["control"] = verdict_text(row->control->verdict);
  if (stopped.evidence == Evidence::kNone) return object;
  json::array layers;
  for (const Layer layer : stopped.layers) layers.emplace_back(layer_text(layer));
  object["stopped_by"] = std::move(layers);
  object["evidence"] = evidence_text(stopped.evidence);
  return object;
}

json::object syscalls(const Comparison& comparison) {
  json::object object;
  for (const Standing standing : kStandings) {
    json::array names;
    for (const CallPair& pair : comparison.calls) {
      if (pair.standing == standing) names.emplace_back(pair.a.name);
    }
    object[standing_text(standing)] = std::move(names);
  }
  return object;
}

json::object probes(const Comparison& comparison) {
  json::object object;
  for (const Standing standing : kStandings) {
    json::array ids;
    for (const ProbePair& pair : comparison.probes) {
      if (pair.standing == standing) ids.emplace_back(pair.probe->id);
    }
    object[standing_text(standing)] = std::move(ids);
  }
  json::array rows;
  for (const ProbePair& pair : comparison.probes) {
    rows.emplace_back(json::object{{"id", pair.probe->id},
                                   {"name", pair.probe->name},
                                   {"category", category_text(pair.probe->category)},
                                   {"tries", pair.probe->tries},
                                   {"source", pair.probe->source},
                                   {"standing", standing_text(pair.standing)},
                                   {"a", verdict(pair.a, pair.stopped_a)},
                                   {"b", verdict(pair.b, pair.stopped_b)}});
  }
  object["rows"] = std::move(rows);
  return object;
}

json::array differences(const Comparison& comparison) {
  json::array array;
  for (const auto& lines :
       {act_lines(comparison), other_lines(comparison), limit_lines(comparison)}) {
    for (const Line& line : lines) {
      if (!line.differs()) continue;
      array.emplace_back(json::object{
          {"what", to_utf8(line.name)}, {"a", to_utf8(line.a)}, {"b", to_utf8(line.b)}});
    }
  }
  return array;
}

}  // namespace

std::string compare_json(const Comparison& comparison) {
  return json::serialize(json::object{{"a", side(comparison.a)},
                                      {"b", side(comparison.b)},
                                      {"syscalls", syscalls(comparison)},
                                      {"probes", probes(comparison)},
                                      {"differences", differences(comparison)}});
}

}  // namespace runner::reach
