// Files as OpenAI's Containers API shows them, and "sha256" beside; a path that is not UTF-8 has
// "path_base64" too. Pure; any thread.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "runner/service.h"

namespace runner::wire {

boost::json::object file_object(const File& file);
std::string file_json(const File& file);
std::string files_json(const Listing<File>& listing);

// {"file_id": ID}: a file that is there already. kInvalid.
Answer<std::string> file_id_wish(std::string_view body);

}  // namespace runner::wire
