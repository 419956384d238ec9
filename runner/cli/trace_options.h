// The options of `serve` and `mcp` that say where the trace goes. Main thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "runner/cli/parser.h"
#include "runner/error.h"
#include "runner/trace/trace.h"

namespace runner::cli {

struct TraceOptions {
  enum class Without : std::uint8_t { kInMemory, kOff };
  // `without`: what no --trace means.
  explicit TraceOptions(std::string command_in, Without without_in)
      : command(std::move(command_in)), without(without_in) {}

  std::string command;
  Without without;
  std::optional<std::string> where;  // a folder; "off"
  std::optional<std::string> sync;
  std::optional<std::string> when_full;
  std::optional<std::string> file_size;
  std::optional<std::string> files;
  std::optional<std::string> inputs_size;
  std::optional<std::string> inputs_time;

  void add_to(Parser& parser);
  // kUsage: a value that makes no sense, or an option of files without a folder.
  [[nodiscard]] Result<trace::Options> read() const;
  [[nodiscard]] bool is_on() const {
    return where ? *where != "off" : without == Without::kInMemory;
  }
  // One line for the start: where it goes and when it is on disk.
  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] Result<trace::Options> read_all() const;
};

}  // namespace runner::cli
