// Finds a name that stands twice in one JSON object. RFC 8259 section 4 leaves open which of the
// two holds, so a proxy and we might read two things in one request. Pure; any thread.
#pragma once

#include <boost/json/parse_options.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace runner::wire {

// `text` has been parsed with these options before.
std::optional<std::string> duplicate_name(std::string_view text,
                                          const boost::json::parse_options& options);

}  // namespace runner::wire
