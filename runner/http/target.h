// A request's target, taken apart (RFC 9112 section 3.2, RFC 3986). Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/wire/containers_json.h"

namespace runner::http {

struct Target {
  std::string authority;              // of the absolute form only: it overrides Host
  std::vector<std::string> segments;  // of the path, decoded; "/v1/containers" has two
  std::vector<wire::QueryItem> query;
};

// nullopt: not origin-form or absolute-form, a broken percent-encoding, a NUL, an empty segment or
// one of dots. Nothing is normalised: a path that needs it matches no route of ours.
std::optional<Target> parse_target(std::string_view target);

// A name that stands twice in it. RFC 3986 leaves open which of the two holds, so a proxy and we
// might read two things in one request.
std::optional<std::string> duplicate_name(const std::vector<wire::QueryItem>& query);

// `%41` to `A`; "+" stays. nullopt: broken.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace runner::http
