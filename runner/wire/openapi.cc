#include "runner/wire/openapi.h"

#include "runner/wire/openapi_parts.h"

namespace runner::wire {
namespace {

constexpr const char* kHead =
    R"({"openapi":"3.1.0","info":{"title":"Sandglass","version":"1",)"
    R"("description":"Runs code that nobody has read. Containers and files have the shapes of )"
    R"(OpenAI's Containers API, events those of E2B's code interpreter."},)"
    R"("security":[{"bearer":[]}],"paths":)";
constexpr const char* kMiddle =
    R"(,"components":{"securitySchemes":{"bearer":{"type":"http","scheme":"bearer"}},"schemas":)";

}  // namespace

const std::string& openapi_json() {
  static const std::string text =
      std::string(kHead) + openapi_paths() + kMiddle + openapi_schemas() + "}}";
  return text;
}

}  // namespace runner::wire
