// What a tool's result is made of. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "runner/mcp/message.h"
#include "runner/service.h"

namespace runner::mcp {

// {"content": [...], "structuredContent": ..., "isError": ...}
struct ToolResult {
  json::array content;
  json::object structured;  // empty: none
  bool is_error = false;

  void add_text(std::string_view utf8);
  void add_image(std::string_view base64, std::string_view mime_type);
  [[nodiscard]] json::object object() const;
};

// A call that could not be done: what, and how to mend it. "_meta" has the kind for programs, as
// "sandglass/refusal": {"kind": "expired"}.
json::object refusal_result(const Refusal& refusal, std::string_view session_id);

// "invalid", "not_found", "expired", "too_large", "too_many" or "unavailable".
const char* kind_text(Refusal::Kind kind) noexcept;

}  // namespace runner::mcp
