#include "runner/wire/trace_query.h"

#include "runner/text.h"
#include "runner/wire/request_fields.h"

namespace runner::wire {

Answer<TraceWish> trace_wish(const std::vector<QueryItem>& query) {
  TraceWish wish;
  for (const QueryItem& item : query) {
    if (item.name == "after") {
      wish.after = item.value;
    } else if (item.name != "format") {
      return invalid("there is no parameter '" + printable(item.name) + "' here",
                     to_utf8(item.name));
    } else if (item.value == "ipynb") {
      wish.form = TraceWish::Form::kNotebook;
    } else if (item.value == "md") {
      wish.form = TraceWish::Form::kPage;
    } else if (item.value != "jsonl") {
      return invalid("'format' must be jsonl, ipynb or md", "format");
    }
  }
  return wish;
}

const char* content_type(TraceWish::Form form) noexcept {
  switch (form) {
    case TraceWish::Form::kLines:
      return "application/x-ndjson";
    case TraceWish::Form::kNotebook:
      return "application/x-ipynb+json";
    case TraceWish::Form::kPage:
      return "text/markdown; charset=utf-8";
  }
  return "text/plain";
}

}  // namespace runner::wire
