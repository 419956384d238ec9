#include "runner/wire/duplicate_name.h"

#include <boost/json/basic_parser_impl.hpp>
#include <set>
#include <vector>

namespace runner::wire {
namespace {

namespace json = boost::json;
using Code = json::error_code;
using Text = json::string_view;

// Boost.JSON calls a member for everything it meets; only objects and their names matter here.
struct Handler {
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);

  std::vector<std::set<std::string>> open;
  std::string name;
  std::optional<std::string> found;

  bool on_object_begin(Code&) {
    open.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, Code&) {
    open.pop_back();
    return true;
  }
  bool on_key_part(Text part, std::size_t, Code&) {
    name.append(part.data(), part.size());
    return true;
  }
  bool on_key(Text part, std::size_t, Code&) {
    name.append(part.data(), part.size());
    if (!open.back().insert(name).second && !found) found = name;
    name.clear();
    return true;
  }
  static bool on_document_begin(Code&) { return true; }
  static bool on_document_end(Code&) { return true; }
  static bool on_array_begin(Code&) { return true; }
  static bool on_array_end(std::size_t, Code&) { return true; }
  static bool on_string_part(Text, std::size_t, Code&) { return true; }
  static bool on_string(Text, std::size_t, Code&) { return true; }
  static bool on_number_part(Text, Code&) { return true; }
  static bool on_int64(std::int64_t, Text, Code&) { return true; }
  static bool on_uint64(std::uint64_t, Text, Code&) { return true; }
  static bool on_double(double, Text, Code&) { return true; }
  static bool on_bool(bool, Code&) { return true; }
  static bool on_null(Code&) { return true; }
  static bool on_comment_part(Text, Code&) { return true; }
  static bool on_comment(Text, Code&) { return true; }
};

}  // namespace

std::optional<std::string> duplicate_name(std::string_view text,
                                          const json::parse_options& options) {
  json::basic_parser<Handler> parser(options);
  Code error;
  parser.write_some(false, text.data(), text.size(), error);
  return parser.handler().found;
}

}  // namespace runner::wire
