// JSON strings (RFC 8259), in and out of UTF-8. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace runner::arithmetic {

struct JsonString {
  std::string_view text;   // the decoded text: within the input, or within the storage
  std::size_t end = 0;     // where the input goes on after the closing quote
  std::string_view error;  // empty where the string is good; lives for ever
};

// The JSON string that begins at `at`, a quote. A pair of \u escapes that is a surrogate pair is
// one character; a lone one stays a surrogate (WTF-8), as Python's json.loads has it.
// `storage` is used only where the string holds escapes.
JsonString read_json_string(std::string_view input, std::size_t at, std::string& storage);

// Where the JSON whitespace from `at` on ends.
std::size_t skip_json_space(std::string_view input, std::size_t at);

}  // namespace runner::arithmetic
