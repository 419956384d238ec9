// Two subjects side by side: what each reaches, and what one closes that the other leaves open.
// Pure; value types; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/reach/report.h"
#include "runner/reach/surface.h"

namespace runner::reach {

struct Side {
  Surface surface;
  std::optional<Report> report;  // absent: no probe was run
};

// Who leaves something open. Unclear: one side gave no answer, or could not be asked.
enum class Standing { kNeither, kOnlyA, kOnlyB, kBoth, kUnclear };

struct CallPair {
  Call a;
  Call b;
  Standing standing = Standing::kNeither;
};

struct ProbePair {
  const Probe* probe = nullptr;
  std::optional<Row> a;  // absent: this side cannot run it
  std::optional<Row> b;
  Standing standing = Standing::kUnclear;
  Stopped stopped_a;  // what stopped it on a side that blocked it
  Stopped stopped_b;
};

struct Comparison {
  Side a;
  Side b;
  std::vector<CallPair> calls;    // by number
  std::vector<ProbePair> probes;  // in the order of the catalogue
};

// Both surfaces must list the same calls (static_reach.h: all_calls).
Comparison compare(Side a, Side b);

// How many of each standing.
struct Tally {
  std::size_t neither = 0;
  std::size_t only_a = 0;
  std::size_t only_b = 0;
  std::size_t both = 0;
  std::size_t unclear = 0;
  [[nodiscard]] std::size_t all() const { return neither + only_a + only_b + both + unclear; }
  void add(Standing standing);
};
Tally tally(const std::vector<CallPair>& calls);
Tally tally(const std::vector<ProbePair>& probes);

std::string_view standing_text(Standing standing) noexcept;  // "neither", "only_a", ...

// The groups of the calls, each once, in the order of syscalls.toml; "in no set" last.
std::vector<std::string> groups_of(const std::vector<CallPair>& calls);

// What is said of one thing on both sides: a limit, a family, a device.
struct Line {
  std::string name;
  std::string a;
  std::string b;
  [[nodiscard]] bool differs() const { return a != b; }
};
std::vector<Line> act_lines(const Comparison& comparison);
std::vector<Line> other_lines(const Comparison& comparison);  // sockets, paths, processes ...
std::vector<Line> limit_lines(const Comparison& comparison);

}  // namespace runner::reach
