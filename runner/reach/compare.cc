#include "runner/reach/compare.h"

#include <algorithm>
#include <map>

namespace runner::reach {
namespace {

Standing standing_of(std::optional<bool> a, std::optional<bool> b) {
  if (!a || !b) return Standing::kUnclear;
  if (*a) return *b ? Standing::kBoth : Standing::kOnlyA;
  return *b ? Standing::kOnlyB : Standing::kNeither;
}

std::optional<bool> is_open(const Call& call) {
  if (call.opening == Opening::kUnknown) return std::nullopt;
  return call.opening != Opening::kClosed;
}

std::optional<bool> is_reached(const std::optional<Row>& row) {
  if (!row || row->got.verdict == Verdict::kInconclusive) return std::nullopt;
  return row->got.verdict == Verdict::kReached;
}

Stopped stopped_of(const std::optional<Row>& row) { return row ? stopped(*row) : Stopped{}; }

std::vector<ProbePair> pair_probes(const Side& a, const Side& b) {
  std::map<const Probe*, std::pair<std::optional<Row>, std::optional<Row>>> rows;
  std::vector<const Probe*> order;
  const auto add =
      [&](const Side& side,
          std::optional<Row> std::pair<std::optional<Row>, std::optional<Row>>::*which) {
        if (!side.report) return;
        for (const Row& row : side.report->rows) {
          if (!rows.contains(row.probe)) order.push_back(row.probe);
          rows[row.probe].*which = row;
        }
      };
  using Both = std::pair<std::optional<Row>, std::optional<Row>>;
  add(a, &Both::first);
  add(b, &Both::second);
  std::vector<ProbePair> pairs;
  for (const Probe* probe : order) {
    Both& both = rows[probe];
    ProbePair pair;
    pair.probe = probe;
    pair.standing = standing_of(is_reached(both.first), is_reached(both.second));
    pair.stopped_a = stopped_of(both.first);
    pair.stopped_b = stopped_of(both.second);
    pair.a = std::move(both.first);
    pair.b = std::move(both.second);
    pairs.push_back(std::move(pair));
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const ProbePair& x, const ProbePair& y) {
    return x.probe->category < y.probe->category;
  });
  return pairs;
}

std::vector<CallPair> pair_calls(const Surface& a, const Surface& b) {
  std::map<int, const Call*> of_b;
  for (const Call& call : b.calls) of_b[call.number] = &call;
  std::vector<CallPair> pairs;
  for (const Call& call : a.calls) {
    const auto other = of_b.find(call.number);
    if (other == of_b.end()) continue;
    pairs.push_back({call, *other->second, standing_of(is_open(call), is_open(*other->second))});
  }
  return pairs;
}

template <class Pairs>
Tally tally_of(const Pairs& pairs) {
  Tally result;
  for (const auto& pair : pairs) result.add(pair.standing);
  return result;
}

}  // namespace

Comparison compare(Side a, Side b) {
  Comparison result;
  result.calls = pair_calls(a.surface, b.surface);
  result.probes = pair_probes(a, b);
  result.a = std::move(a);
  result.b = std::move(b);
  return result;
}

void Tally::add(Standing standing) {
  switch (standing) {
    case Standing::kNeither:
      ++neither;
      return;
    case Standing::kOnlyA:
      ++only_a;
      return;
    case Standing::kOnlyB:
      ++only_b;
      return;
    case Standing::kBoth:
      ++both;
      return;
    case Standing::kUnclear:
      ++unclear;
      return;
  }
}

Tally tally(const std::vector<CallPair>& calls) { return tally_of(calls); }
Tally tally(const std::vector<ProbePair>& probes) { return tally_of(probes); }

std::string_view standing_text(Standing standing) noexcept {
  switch (standing) {
    case Standing::kNeither:
      return "neither";
    case Standing::kOnlyA:
      return "only_a";
    case Standing::kOnlyB:
      return "only_b";
    case Standing::kBoth:
      return "both";
    case Standing::kUnclear:
      break;
  }
  return "unclear";
}

std::vector<std::string> groups_of(const std::vector<CallPair>& calls) {
  std::map<int, std::string> by_rank;
  for (const CallPair& pair : calls) by_rank[pair.a.group_rank] = pair.a.group;
  std::vector<std::string> names;
  names.reserve(by_rank.size());
  for (const auto& [rank, name] : by_rank) names.push_back(name);
  return names;
}

}  // namespace runner::reach
