// An execution as one JSON document, for clients that do not stream. Pure.
#pragma once

#include <string>
#include <vector>

#include "runner/service.h"

namespace runner::wire {

// Gathers an execution's events. Memory: what the policy lets an execution write. A `limit` of
// bytes holds all the same, since the events come from code nobody has read.
class ExecutionDocument {
 public:
  explicit ExecutionDocument(jail::Bytes limit = jail::mib(64)) : limit_(limit) {}

  void add(const ExecutionEvent& event);
  [[nodiscard]] bool is_finished() const { return finished_.has_value(); }

  // Every member always stands there: "object": "execution", "id", "execution_count", "stdout",
  // "stderr", "results", "error" (what was raised, or null), the outcome's, "denied", "files",
  // "skipped", "expires_at"; "results_dropped" counts results beyond the limit.
  [[nodiscard]] std::string text() const;

 private:
  void add_output(std::string& to, Stream& cut, const std::string& bytes);

  jail::Bytes limit_;
  std::uint64_t held_ = 0;
  Begun begun_;
  std::string out_;
  std::string err_;
  Stream out_cut_;
  Stream err_cut_;
  std::vector<Rich> results_;
  std::uint64_t dropped_ = 0;
  std::optional<Raised> raised_;
  std::optional<Finished> finished_;
};

}  // namespace runner::wire
