// The two long pieces of the API's description, as JSON. Pure; any thread.
#pragma once

namespace runner::wire {

const char* openapi_paths();
const char* openapi_schemas();

}  // namespace runner::wire
