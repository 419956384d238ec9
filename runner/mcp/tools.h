// What tools/list says: the six tools, their arguments and results as JSON Schema (2020-12), and
// what a model should know of them. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/mcp/message.h"

namespace runner::mcp {

enum class Tool : std::uint8_t {
  kExecuteCode,
  kEvaluateExpression,
  kListFiles,
  kReadFile,
  kWriteFile,
  kCloseSession,
};

// What the descriptions name of the policy in force.
struct ToolFacts {
  std::string policy = "standard";
  std::vector<std::string> languages = {"python"};
  std::string wall_time = "60s";  // of one execution, at most
  std::string idle = "20m";       // until a session expires
};

json::array tool_list(const ToolFacts& facts);
// Whether there is a tool of this name; fills in which.
bool tool_named(std::string_view name, Tool& tool) noexcept;
// For the model, about all of it.
std::string instructions(const ToolFacts& facts);

}  // namespace runner::mcp
