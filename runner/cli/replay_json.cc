#include "runner/cli/replay_json.h"

#include <algorithm>
#include <boost/json.hpp>

#include "runner/text.h"
#include "runner/wire/request_fields.h"

namespace runner::cli {
namespace {

namespace json = boost::json;

json::object record_object(const replay::Replayed& one) {
  json::array differences;
  for (const replay::Difference& difference : one.differences)
    differences.push_back(json::object{{"what", to_utf8(difference.what)},
                                       {"recorded", to_utf8(difference.recorded)},
                                       {"now", to_utf8(difference.now)}});
  const trace::Record& record = *one.record;
  return {{"id", record.id},
          {"session", record.session},
          {"seq", record.seq},
          {"kind", trace::kind_text(record.kind)},
          {"title", to_utf8(record.title)},
          {"verdict", replay::verdict_text(one.verdict)},
          {"text", to_utf8(one.text)},
          {"differences", std::move(differences)}};
}

}  // namespace

std::string replay_json(const std::vector<replay::Replayed>& all,
                        const std::vector<std::string>& problems) {
  json::object object;
  for (int i = 0; i <= static_cast<int>(replay::Verdict::kFailed); ++i) {
    const auto verdict = static_cast<replay::Verdict>(i);
    object[replay::verdict_text(verdict)] = std::count_if(
        all.begin(), all.end(), [&](const auto& one) { return one.verdict == verdict; });
  }
  json::array lines;
  for (const std::string& problem : problems) lines.emplace_back(to_utf8(problem));
  object["problems"] = std::move(lines);
  json::array records;
  for (const replay::Replayed& one : all) records.push_back(record_object(one));
  object["records"] = std::move(records);
  return wire::to_ascii(object);
}

}  // namespace runner::cli
