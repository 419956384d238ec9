// The query of GET .../trace. Pure; any thread.
#pragma once

#include <vector>

#include "runner/service.h"
#include "runner/wire/containers_json.h"

namespace runner::wire {

// format ("jsonl", "ipynb", "md") and after. Others are refused: kInvalid.
Answer<TraceWish> trace_wish(const std::vector<QueryItem>& query);

const char* content_type(TraceWish::Form form) noexcept;

}  // namespace runner::wire
