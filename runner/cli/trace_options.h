// The options of `serve` that say where the trace goes. Main thread.
#pragma once

#include <optional>
#include <string>

#include "runner/cli/parser.h"
#include "runner/error.h"
#include "runner/trace/trace.h"

namespace runner::cli {

struct TraceOptions {
  std::optional<std::string> where;  // a folder; "off"; absent: in memory
  std::optional<std::string> sync;
  std::optional<std::string> when_full;
  std::optional<std::string> file_size;
  std::optional<std::string> files;
  std::optional<std::string> inputs_size;
  std::optional<std::string> inputs_time;

  void add_to(Parser& parser);
  // kUsage: a value that makes no sense, or an option of files without a folder.
  [[nodiscard]] Result<trace::Options> read() const;
  [[nodiscard]] bool is_on() const { return where != "off"; }
  // One line for the start: where it goes and when it is on disk.
  [[nodiscard]] std::string describe() const;
};

}  // namespace runner::cli
