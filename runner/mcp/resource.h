// Files of sessions as MCP's resources: sandglass://SESSION/mnt/data/NAME. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runner/mcp/message.h"
#include "runner/service.h"

namespace runner::mcp {

struct ResourceName {
  std::string session_id;
  std::string path;  // absolute, in the session; any bytes but zero
};

// Bytes that a URI may not hold are percent-encoded, so that every path has a name.
std::string resource_uri(const ResourceName& name);
std::optional<ResourceName> parse_resource_uri(std::string_view uri);

// By the ending alone; "application/octet-stream" where it is not known. What is in the file is up
// to whoever wrote the code.
std::string mime_type_of(std::string_view path);
// Whether it is an image that a model can be shown.
bool is_image_type(std::string_view mime_type) noexcept;

// The last part of a path.
std::string_view base_name_of(std::string_view path) noexcept;

// {"type": "resource_link", "uri", "name", "mimeType", "size"}
json::object resource_link(const File& file);
// {"path", "uri", "bytes", "mime_type", "source", "sha256"}: a file in structured content.
json::object file_entry(const File& file);

}  // namespace runner::mcp
