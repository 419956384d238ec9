// What the MCP side of a server needs to know before there is a service. Plain data.
#pragma once

#include <string>

#include "jail/units.h"
#include "runner/mcp/tools.h"
#include "runner/wire/evaluate_json.h"

namespace runner::mcp {

struct Options {
  std::string version;
  ToolFacts facts;
  wire::Grammar grammar;              // of evaluate_expression
  jail::Millis progress_every{1000};  // while code runs
};

}  // namespace runner::mcp
