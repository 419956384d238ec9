// What an execution tells, gathered into its record: text up to a cap, the hash of all. Plain; one
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runner/service.h"
#include "runner/trace/digest.h"
#include "runner/trace/record.h"

namespace runner {

class RecordedRun {
 public:
  explicit RecordedRun(trace::Record record) : record_(std::move(record)) {}

  void add(const ExecutionEvent& event);
  // The record, now that all is known. Once only.
  trace::Record finish(const Finished& finished);
  [[nodiscard]] trace::Record& record() { return record_; }

 private:
  struct Gathered {
    trace::Digest digest;
    std::string text;
    std::uint64_t bytes = 0;
    void add(std::string_view more);
    trace::Traced take();
  };
  void add_result(const Rich& rich);

  trace::Record record_;
  Gathered out_;
  Gathered err_;
  std::size_t result_bytes_ = 0;
  bool begun_ = false;
};

// What was evaluated, and what came of it.
void describe(trace::Record& record, const Evaluation& evaluation);

// Who asks, as the trace has it: 16 hex digits of a hash, since a tenant's name may be its token.
std::string owner_of(const Tenant& tenant);

// The first line of the code that says something, for people: at most 80 characters.
std::string title_of(std::string_view code);

trace::TracedFile traced_file(const File& file);

}  // namespace runner
