// What `mcp` and `serve` tell of a policy to clients of MCP. Main thread.
#pragma once

#include <span>
#include <string>

#include "policies/policy.h"
#include "runner/error.h"
#include "runner/mcp/options.h"

namespace runner::cli {

// `policies` has `restricted`, for evaluate_expression, and `name`: by that name, or last, where it
// is the path of a file. The path is not told to clients.
Result<mcp::Options> mcp_options(std::span<const policies::Policy> policies,
                                 const std::string& name);

}  // namespace runner::cli
