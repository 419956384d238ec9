#include "runner/wire/outcome_parts.h"

#include "runner/text.h"

namespace runner::wire {
namespace {

template <class T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::value limit_value(const std::optional<LimitHit>& hit) {
  if (!hit) return nullptr;
  json::object object{{"name", hit->name}, {"limit", hit->limit}, {"value", hit->value}};
  object["peak"] = or_null(hit->peak);
  object["unit"] = hit->unit;
  return object;
}

json::object usage_object(const Usage& usage) {
  json::object object{{"wall_ms", usage.wall.count()}, {"cpu_ms", usage.cpu.count()}};
  const bool known = usage.peak_memory_from != jail::Enforcer::kNone;
  object["peak_memory_bytes"] = known ? json::value(usage.peak_memory.value) : json::value(nullptr);
  object["peak_memory_from"] =
      known ? json::value(enforcer_text(usage.peak_memory_from)) : json::value(nullptr);
  return object;
}

}  // namespace

void add_bytes(json::object& object, const std::string& name, std::string_view bytes,
               const Stream& stream) {
  if (stream.truncated) bytes = without_partial_character(bytes);
  object[name] = to_utf8(bytes);
  if (!is_utf8(bytes)) object[name + "_base64"] = base64(bytes);
}

json::object path_object(std::string_view path) {
  json::object object;
  object["path"] = to_utf8(path);
  if (!is_utf8(path)) object["path_base64"] = base64(path);
  return object;
}

json::array denied_array(std::span<const DeniedEntry> denied) {
  json::array list;
  for (const DeniedEntry& entry : denied) {
    list.push_back(json::object{{"syscall", entry.syscall},
                                {"args", to_utf8(entry.args)},
                                {"count", entry.count},
                                {"rule", entry.rule},
                                {"allow_with", entry.allow_with}});
  }
  return list;
}

json::object outcome_object(const Outcome& outcome) {
  json::object object{{"outcome", word_text(outcome.word)},
                      {"ending", ending_text(ending_of(outcome))},
                      {"exit_code", outcome.exit_code}};
  object["status"] = or_null(outcome.status);
  object["signal"] = outcome.signal ? json::value(signal_text(*outcome.signal)) : nullptr;
  object["text"] = to_utf8(outcome.text);
  object["state_preserved"] = outcome.state_preserved;
  object["limit"] = limit_value(outcome.limit);
  object["truncated"] =
      json::object{{"stdout", outcome.out.truncated}, {"stderr", outcome.err.truncated}};
  object["produced"] =
      json::object{{"stdout", outcome.out.produced}, {"stderr", outcome.err.produced}};
  object["usage"] = usage_object(outcome.usage);
  return object;
}

}  // namespace runner::wire
