#include "runner/wire/request_fields.h"

#include <charconv>
#include <cmath>

#include "runner/text.h"
#include "runner/wire/duplicate_name.h"
#include "runner/wire/outcome_json.h"

namespace runner::wire {

Answer<json::object> parse_object(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMaxRequestDepth;
  json::error_code error;
  json::value value = json::parse(json::string_view(text.data(), text.size()), error, {}, options);
  if (error) return invalid("the body is not valid JSON: " + error.message());
  if (!value.is_object()) return invalid("the body must be a JSON object");
  if (const auto name = duplicate_name(text, options)) {
    const std::string shown = printable(name->substr(0, 64));
    return invalid("'" + shown + "' stands twice in one object", shown);
  }
  return std::move(value.get_object());
}

std::string to_ascii(const json::value& value) { return ascii_escaped(json::serialize(value)); }

tl::unexpected<Refusal> invalid(std::string text, std::string param) {
  return tl::unexpected<Refusal>(
      Refusal{Refusal::Kind::kInvalid, std::move(text), std::move(param)});
}

std::optional<jail::Bytes> size_from(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number == 0) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  unsigned shift = 0;
  if (unit == "k" || unit == "K") shift = 10;
  if (unit == "m" || unit == "M") shift = 20;
  if (unit == "g" || unit == "G") shift = 30;
  if (shift == 0 && !unit.empty()) return std::nullopt;
  if (number > (std::uint64_t{1} << (62U - shift))) return std::nullopt;
  return jail::Bytes{number << shift};
}

const json::value* Fields::find(std::string_view name) {
  known_.emplace(name);
  const json::value* value = object_.if_contains(json::string_view(name.data(), name.size()));
  return value == nullptr || value->is_null() ? nullptr : value;
}

void Fields::refuse(std::string_view name, const std::string& text) {
  if (refusal_) return;
  const std::string full = prefix_ + std::string(name);
  refusal_ = Refusal{Refusal::Kind::kInvalid, "'" + full + "' " + text, full};
}

std::optional<std::string> Fields::text(std::string_view name, std::size_t max_bytes) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    refuse(name, "must be a string");
    return std::nullopt;
  }
  const json::string& found = value->get_string();
  if (found.size() > max_bytes) {
    refuse(name, "must be at most " + size_text(jail::Bytes{max_bytes}) + " long");
    return std::nullopt;
  }
  return std::string(found.data(), found.size());
}

std::optional<std::int64_t> Fields::integer(std::string_view name, std::int64_t min,
                                            std::int64_t max) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  // A whole number beyond 2^63 is no int64; a number with a point is a double, also 5.0.
  const bool is_whole = value->is_int64();
  if (!is_whole || value->get_int64() < min || value->get_int64() > max) {
    refuse(name,
           "must be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    return std::nullopt;
  }
  return value->get_int64();
}

std::optional<jail::Millis> Fields::seconds(std::string_view name, std::chrono::seconds max) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  json::error_code error;
  const auto number = value->to_number<double>(error);
  const bool fits = !error && std::isfinite(number) && number >= 0.001 &&
                    number <= static_cast<double>(max.count());
  if (!fits) {
    refuse(name, "must be a number of seconds, over 0 and at most " + std::to_string(max.count()));
    return std::nullopt;
  }
  return jail::Millis{static_cast<std::int64_t>(number * 1000.0)};
}

std::optional<bool> Fields::flag(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_bool()) {
    refuse(name, "must be true or false");
    return std::nullopt;
  }
  return value->get_bool();
}

std::optional<jail::Bytes> Fields::size(std::string_view name) {
  const auto written = text(name, 32);
  if (!written) return std::nullopt;
  const auto size = size_from(*written);
  if (!size) refuse(name, "must be a size such as \"1g\" or \"512m\"");
  return size;
}

const json::object* Fields::object(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) refuse(name, "must be an object");
  return value->if_object();
}

const json::array* Fields::array(std::string_view name, std::size_t max_items) {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_array() || value->get_array().size() > max_items) {
    refuse(name, "must be an array of at most " + std::to_string(max_items) + " items");
    return nullptr;
  }
  return value->if_array();
}

std::vector<std::string> Fields::texts(std::string_view name, std::size_t max_items) {
  std::vector<std::string> list;
  const json::array* items = array(name, max_items);
  if (items == nullptr) return list;
  for (const json::value& item : *items) {
    if (!item.is_string()) {
      refuse(name, "must hold strings only");
      break;
    }
    list.emplace_back(item.get_string().data(), item.get_string().size());
  }
  return list;
}

std::optional<Refusal> Fields::refusal() const {
  if (refusal_) return refusal_;
  for (const auto& member : object_) {
    const std::string_view name(member.key().data(), member.key().size());
    if (known_.contains(name)) continue;
    const std::string full = prefix_ + printable(name.substr(0, 64));
    return Refusal{Refusal::Kind::kInvalid, "there is no parameter '" + full + "'", full};
  }
  return std::nullopt;
}

}  // namespace runner::wire
