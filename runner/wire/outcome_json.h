// Outcomes and errors as JSON: pure translation, no I/O. The text is ASCII (everything else is
// escaped as \uXXXX), so that a client may split it anywhere. Strings that are not UTF-8 have
// U+FFFD in place of the ill-formed bytes, and a second field with all bytes in base64.
// Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runner/arithmetic/arithmetic.h"
#include "runner/error.h"
#include "runner/session/denied.h"
#include "runner/session/outcome.h"
#include "runner/session/workdir.h"

namespace runner::wire {

// One limit in force and who sees to it.
struct LimitLine {
  std::string name;  // "memory"
  std::string text;  // "512M"
  std::uint64_t value = 0;
  const char* unit = "bytes";  // "bytes", "ms", "count"
  std::string enforced_by;     // "cgroup v2"
};

// Everything `--json` prints.
struct Report {
  std::string policy;
  std::optional<std::string> language;
  Outcome outcome;
  std::string_view out;  // as captured, at most limits.output bytes
  std::string_view err;
  std::span<const DeniedEntry> denied;
  std::uint64_t denied_total = 0;
  bool denied_throttled = false;
  const Harvest* files = nullptr;  // null without --out
  const Error* error = nullptr;    // the code ran, but its files could not all be delivered
  std::span<const LimitLine> limits;
  // Of the restricted mode only; without them the document has no such members.
  const arithmetic::Verdict* verdict = nullptr;
  std::optional<std::string> fallback;  // why arithmetic was evaluated and nothing was run
};

// One line without a newline at its end.
std::string to_json(const Report& report);
std::string to_json(const Error& error);

// `text` (UTF-8 JSON) with every character beyond ASCII escaped.
std::string ascii_escaped(std::string_view text);

}  // namespace runner::wire
