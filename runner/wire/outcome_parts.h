// The pieces of JSON that one-shot reports and the API's events share. Pure; any thread.
#pragma once

#include <boost/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "runner/session/denied.h"
#include "runner/session/outcome.h"

namespace runner::wire {

namespace json = boost::json;

// `name` as text, and `name`_base64 if it is not UTF-8. A cap may have cut a character in half:
// that alone makes no binary of it.
void add_bytes(json::object& object, const std::string& name, std::string_view bytes,
               const Stream& stream);

// {"path": ...}, and "path_base64" if it is not UTF-8.
json::object path_object(std::string_view path);

json::array denied_array(std::span<const DeniedEntry> denied);

// "outcome", "ending", "exit_code", "status", "signal", "text", "state_preserved", "limit",
// "truncated", "produced", "usage".
json::object outcome_object(const Outcome& outcome);

}  // namespace runner::wire
