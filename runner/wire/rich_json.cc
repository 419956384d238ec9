#include "runner/wire/rich_json.h"

#include <algorithm>
#include <array>

#include "runner/text.h"
#include "runner/wire/outcome_parts.h"
#include "runner/wire/request_fields.h"

namespace runner::wire {
namespace {

struct FlatName {
  std::string_view mime;
  std::string_view name;
};
constexpr std::array<FlatName, 10> kFlat = {{{"text/plain", "text"},
                                             {"text/html", "html"},
                                             {"text/markdown", "markdown"},
                                             {"text/latex", "latex"},
                                             {"image/svg+xml", "svg"},
                                             {"image/png", "png"},
                                             {"image/jpeg", "jpeg"},
                                             {"application/pdf", "pdf"},
                                             {"application/json", "json"},
                                             {"application/javascript", "javascript"}}};

// What the payload calls JSON may be anything: what does not parse stays a string.
json::value parsed_or_text(const std::string& text) {
  json::parse_options options;
  options.max_depth = kMaxRequestDepth;
  json::error_code error;
  json::value value = json::parse(text, error, {}, options);
  return error ? json::value(to_utf8(text)) : value;
}

}  // namespace

json::object rich_object(const Rich& rich) {
  json::object object{{"is_main_result", rich.is_main}};
  json::object others;
  for (const auto& entry : rich.data) {
    const auto& mime = entry.first;
    const auto& content = entry.second;
    const auto* flat = std::find_if(kFlat.begin(), kFlat.end(),
                                    [&](const FlatName& name) { return name.mime == mime; });
    if (flat == kFlat.end()) {
      add_bytes(others, to_utf8(mime), content, {});
    } else if (flat->name == "json") {
      object["json"] = parsed_or_text(content);
    } else {
      add_bytes(object, std::string(flat->name), content, {});
    }
  }
  if (!others.empty()) object["data"] = std::move(others);
  return object;
}

json::object raised_object(const Raised& raised) {
  return {{"name", to_utf8(raised.name)},
          {"value", to_utf8(raised.value)},
          {"traceback", to_utf8(raised.traceback)}};
}

}  // namespace runner::wire
