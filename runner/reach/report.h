// What a run of the suite found, and how it is told: text, JSON, JUnit. Pure; any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runner/reach/probe.h"

namespace runner::reach {

// Which layers stop one probe, found out by running it behind each layer alone.
struct Why {
  std::vector<Layer> stopped_by;  // each of these alone stops it
  std::vector<Layer> untried;     // could not be tried alone on this host
  bool confirmed = false;         // behind all layers but these it gets through
  bool together = false;          // it does not: others stop it together
};

struct Row {
  const Probe* probe = nullptr;
  Observation got;
  std::optional<Observation> control;  // without a sandbox; absent: not run
  std::optional<Verdict> expected;     // absent: nothing is declared for this subject
  std::vector<Layer> seen;             // layers that the sandbox itself saw stopping something
  std::optional<Why> why;

  // Reached where it must be blocked; or no answer; or blocked where it is declared reached,
  // unless the host itself stops it, sandbox or not.
  [[nodiscard]] bool is_wrong() const;
  // Nobody knows what it should be, and there is no answer.
  [[nodiscard]] bool is_unanswered() const;
  // Reached although it should be blocked: what makes the gate fail whatever else holds.
  [[nodiscard]] bool is_hole() const;
  // The control reached: the probe works on this host, so its being blocked says something.
  [[nodiscard]] bool is_proven() const;
};

// Where the layers come from that are said to have stopped a probe. Alone: each was tried alone
// (--why). Seen: the sandbox saw it refuse something of the probe's, with the probe's errno.
// Expected: by the catalogue, which knows Sandglass's own layers only.
enum class Evidence : std::uint8_t { kNone, kAlone, kSeen, kExpected };

struct Stopped {
  std::vector<Layer> layers;
  Evidence evidence = Evidence::kNone;
};

// The best that is known of a probe that was blocked; kNone: nothing, or it was not.
Stopped stopped(const Row& row);
std::string_view evidence_text(Evidence evidence) noexcept;  // "", "alone", "seen", "expected"
std::string layers_text(const std::vector<Layer>& layers);   // "mounts, Landlock"

struct Report {
  std::string subject;
  std::string mode;  // "exec", "join"
  std::vector<Row> rows;
  std::chrono::milliseconds elapsed{0};
  std::vector<std::string> notes;  // what could not be done on this host, and why
};

struct Counts {
  std::size_t reached = 0;
  std::size_t blocked = 0;
  std::size_t inconclusive = 0;
  std::size_t wrong = 0;
  std::size_t holes = 0;
  std::size_t unproven = 0;  // blocked, and the control did not reach either
};
Counts count(const Report& report);

enum class Colours : std::uint8_t { kOff, kOn };

std::string report_text(const Report& report, Colours colours);  // for a person
std::string report_json(const Report& report);                   // one document, UTF-8, no newline
std::string report_junit(const Report& report);                  // one <testsuite>

// 0: all as expected. 1: a hole, a difference, or a probe without an answer.
int exit_code(const Report& report);

}  // namespace runner::reach
