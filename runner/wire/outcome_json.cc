#include "runner/wire/outcome_json.h"

#include <array>
#include <cstdio>

#include "runner/text.h"
#include "runner/wire/outcome_parts.h"

namespace runner::wire {
namespace {

namespace json = boost::json;

void add_unit(std::string& out, unsigned unit) {
  std::array<char, 8> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "\\u%04x", unit);
  out += buffer.data();
}

std::uint32_t code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i]));
  };
  std::uint32_t code = byte(0) & (0x7FU >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) code = (code << 6U) | (byte(i) & 0x3FU);
  return code;
}

json::value files_value(const Harvest* harvest) {
  if (harvest == nullptr) return nullptr;
  json::array written;
  for (const Harvest::Written& file : harvest->written) {
    json::object object = path_object(file.path);
    object["bytes"] = file.size.value;
    written.push_back(std::move(object));
  }
  json::array skipped;
  for (const Skipped& file : harvest->skipped) {
    json::object object = path_object(file.path);
    object["reason"] = to_utf8(file.reason);
    skipped.push_back(std::move(object));
  }
  return json::object{{"written", std::move(written)},
                      {"skipped", std::move(skipped)},
                      {"skipped_total", harvest->skipped_total},
                      {"unchanged", harvest->unchanged}};
}

json::object limits_object(std::span<const LimitLine> limits) {
  json::object object;
  for (const LimitLine& line : limits) {
    object[line.name] = json::object{{"limit", line.text},
                                     {"value", line.value},
                                     {"unit", line.unit},
                                     {"enforced_by", line.enforced_by}};
  }
  return object;
}

json::object error_object(const Error& error) {
  json::object object{{"kind", kind_name(error.kind)}, {"text", to_utf8(error.text)}};
  if (error.setup) {
    object["setup"] = json::object{{"step", jail::step_name(error.setup->step)},
                                   {"index", error.setup->index},
                                   {"errno", jail::errno_name(error.setup->error)}};
  }
  return object;
}

}  // namespace

std::string ascii_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      if (first == 0x7F) {
        add_unit(out, first);
      } else {
        out += text[i];
      }
      ++i;
      continue;
    }
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    const std::uint32_t code = code_point(text.substr(i, length));
    if (code >= 0x10000) {
      add_unit(out, 0xD800U + ((code - 0x10000U) >> 10U));
      add_unit(out, 0xDC00U + ((code - 0x10000U) & 0x3FFU));
    } else {
      add_unit(out, code);
    }
    i += length;
  }
  return out;
}

std::string to_json(const Report& report) {
  const Outcome& outcome = report.outcome;
  json::object object = outcome_object(outcome);
  object["denied"] = denied_array(report.denied);
  object["denied_total"] = report.denied_total;
  object["denied_throttled"] = report.denied_throttled;
  add_bytes(object, "stdout", report.out, outcome.out);
  add_bytes(object, "stderr", report.err, outcome.err);
  object["files"] = files_value(report.files);
  object["error"] = report.error != nullptr ? json::value(error_object(*report.error)) : nullptr;
  object["policy"] = report.policy;
  object["language"] = report.language ? json::value(*report.language) : nullptr;
  object["limits"] = limits_object(report.limits);
  if (report.verdict != nullptr) {
    object["verdict"] = json::parse(arithmetic::to_json(*report.verdict));
  }
  if (report.fallback) object["fallback"] = to_utf8(*report.fallback);
  return ascii_escaped(json::serialize(object));
}

std::string to_json(const Error& error) {
  return ascii_escaped(json::serialize(json::object{{"error", error_object(error)}}));
}

}  // namespace runner::wire
