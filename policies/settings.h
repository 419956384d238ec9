// A file of settings for a command: TOML whose keys are the names of the command's options, so that
// what can be said on a command line can be kept in a file. `[trace]` above `size = "64M"` is the
// option `trace-size`; `token_file` is `token-file`. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/error.h"

namespace policies {

struct Setting {
  enum class Kind : std::uint8_t { kText, kSwitch, kList };

  std::string name;   // "trace-size"
  std::string place;  // "/etc/sandglass.toml:3:1: trace.size", for messages
  Kind kind = Kind::kText;
  std::vector<std::string> values;  // of kText one; of kSwitch one, "true" or "false"
};

// In the file's order. Errors name the file, line and column: what is no TOML, a key given twice,
// a fraction or a date, an empty string. Of one file at most 1 MiB is read.
Result<std::vector<Setting>> read_settings(const std::string& path);

}  // namespace policies
