// A request's JSON, read strictly: a field of the wrong type, out of range or unknown is refused
// with its name, so that a misspelt `timeout_s` is not silently no time-out at all. Null counts as
// absent; a name that stands twice is refused. Pure; any thread.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "runner/service.h"

namespace runner::wire {

namespace json = boost::json;

inline constexpr std::size_t kMaxRequestDepth = 32;

// The text as one JSON object: RFC 8259, UTF-8 without lone surrogates, no NaN,
// no name twice in one object. kInvalid.
Answer<json::object> parse_object(std::string_view text);

// One line of ASCII without a newline at its end.
std::string to_ascii(const json::value& value);

tl::unexpected<Refusal> invalid(std::string text, std::string param = "");

// "1g", "512M", "1073741824"; nullopt for anything else, 0 included.
std::optional<jail::Bytes> size_from(std::string_view text);

class Fields {
 public:
  // `object` must outlive this. `prefix` heads the names in messages: "expires_after.".
  explicit Fields(const json::object& object, std::string prefix = "")
      : object_(object), prefix_(std::move(prefix)) {}

  std::optional<std::string> text(std::string_view name, std::size_t max_bytes);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max);
  // Seconds, whole or not, over 0 and at most `max`.
  std::optional<jail::Millis> seconds(std::string_view name, std::chrono::seconds max);
  std::optional<bool> flag(std::string_view name);
  std::optional<jail::Bytes> size(std::string_view name);
  const json::object* object(std::string_view name);
  const json::array* array(std::string_view name, std::size_t max_items);
  std::vector<std::string> texts(std::string_view name, std::size_t max_items);

  void refuse(std::string_view name, const std::string& text);
  // The first thing wrong; when nothing is, the first field that nobody has asked for.
  [[nodiscard]] std::optional<Refusal> refusal() const;

 private:
  const json::value* find(std::string_view name);

  const json::object& object_;
  std::string prefix_;
  std::set<std::string, std::less<>> known_;
  std::optional<Refusal> refusal_;
};

}  // namespace runner::wire
