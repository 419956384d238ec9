#include "runner/reach/report.h"

#include <algorithm>
#include <array>

namespace runner::reach {

bool Row::is_proven() const { return control && control->verdict == Verdict::kReached; }

bool Row::is_hole() const {
  return got.verdict == Verdict::kReached && expected == Verdict::kBlocked;
}

bool Row::is_wrong() const {
  if (!expected) return false;
  if (got.verdict == *expected) return false;
  const bool host_stops = control && control->verdict == Verdict::kBlocked;
  return !(got.verdict == Verdict::kBlocked && host_stops);
}

bool Row::is_unanswered() const { return got.verdict == Verdict::kInconclusive && !expected; }

Stopped stopped(const Row& row) {
  if (row.got.verdict != Verdict::kBlocked) return {};
  if (row.why) return {row.why->stopped_by, Evidence::kAlone};
  if (!row.seen.empty()) return {row.seen, Evidence::kSeen};
  // The catalogue's layer is the one of Sandglass's own policies: of no other sandbox.
  if (row.expected && row.probe->stopped_by != Layer::kNone)
    return {{row.probe->stopped_by}, Evidence::kExpected};
  return {};
}

std::string_view evidence_text(Evidence evidence) noexcept {
  switch (evidence) {
    case Evidence::kNone:
      return "";
    case Evidence::kAlone:
      return "alone";
    case Evidence::kSeen:
      return "seen";
    case Evidence::kExpected:
      break;
  }
  return "expected";
}

std::string layers_text(const std::vector<Layer>& layers) {
  std::string text;
  for (const Layer layer : layers)
    text += (text.empty() ? "" : ", ") + std::string(layer_text(layer));
  return text;
}

Counts count(const Report& report) {
  Counts counts;
  for (const Row& row : report.rows) {
    counts.reached += row.got.verdict == Verdict::kReached ? 1U : 0U;
    counts.blocked += row.got.verdict == Verdict::kBlocked ? 1U : 0U;
    counts.inconclusive += row.got.verdict == Verdict::kInconclusive ? 1U : 0U;
    counts.wrong += row.is_wrong() ? 1U : 0U;
    counts.holes += row.is_hole() ? 1U : 0U;
    const bool idle = row.control && !row.is_proven();
    counts.unproven += row.got.verdict == Verdict::kBlocked && idle ? 1U : 0U;
  }
  return counts;
}

int exit_code(const Report& report) {
  const auto fails = [](const Row& row) { return row.is_wrong() || row.is_unanswered(); };
  return std::any_of(report.rows.begin(), report.rows.end(), fails) ? 1U : 0U;
}

}  // namespace runner::reach
