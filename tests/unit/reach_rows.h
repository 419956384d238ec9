// Made-up rows for what is pure: no probe runs here.
#pragma once

#include <deque>
#include <string>

#include "policies/load.h"
#include "runner/reach/compare.h"
#include "runner/reach/static_reach.h"

namespace reach_test {

using namespace runner::reach;  // NOLINT: a test's own header

// Probes that live as long as the program: rows point to them.
inline const Probe* made_up(std::string_view id, Category category, Layer layer) {
  static std::deque<Probe> kept;
  static std::deque<std::string> names;
  for (const Probe& probe : kept)
    if (probe.id == id) return &probe;
  names.push_back(std::string(id));
  const std::string_view kept_id = names.back();
  names.push_back("try-" + std::string(id));
  Probe probe;
  probe.id = kept_id;
  probe.name = names.back();
  probe.tries = "tries <something> & says so";
  probe.source = "CVE-2024-21626";
  probe.category = category;
  probe.stopped_by = layer;
  kept.push_back(probe);
  return &kept.back();
}

inline Row row(const Probe* probe, Verdict verdict, const std::string& detail = "a detail") {
  Row result;
  result.probe = probe;
  result.got = {verdict, detail, 0};
  return result;
}

}  // namespace reach_test
