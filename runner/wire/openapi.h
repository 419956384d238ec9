// The API's description, OpenAPI 3.1: served at /openapi.json, and held against the real replies by
// the tests. Pure; any thread.
#pragma once

#include <string>

namespace runner::wire {

const std::string& openapi_json();

}  // namespace runner::wire
