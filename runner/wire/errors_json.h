// How a request failed, as clients of OpenAI's API know it, and the one table of statuses.
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "runner/service.h"

namespace runner::wire {

// 400, 404, 413, 429 or 503.
unsigned status_of(Refusal::Kind kind) noexcept;

struct ErrorBody {
  unsigned status = 400;
  std::string message;
  std::string param = {};  // empty: null
  std::string code = {};   // empty: null
};

// {"error": {"message", "type", "param", "code"}}; the type follows from the status.
std::string error_json(const ErrorBody& error);

ErrorBody error_of(const Refusal& refusal);

}  // namespace runner::wire
