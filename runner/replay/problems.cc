#include <set>

#include "runner/replay/replay.h"
#include "runner/text.h"
#include "runner/trace/inputs.h"

namespace runner::replay {
namespace {

using trace::Record;

std::string short_hash(const std::string& hash) {
  return hash.empty() ? "none" : hash.substr(0, 12);
}

void check_policy(const Record& record, const World& world, std::set<std::string>& seen,
                  std::vector<std::string>& problems) {
  if (!seen.insert(record.policy.name + "\n" + record.policy.sha256).second) return;
  const std::string name = printable(record.policy.name);
  const auto now = world.policy(record.policy.name);
  if (!now) {
    problems.push_back("there is no policy " + name + " here; if it is a file, give --policy FILE");
  } else if (now->sha256 != record.policy.sha256) {
    problems.push_back("the policy " + name + " has changed: sha256 " +
                       short_hash(record.policy.sha256) + " was recorded, now it is " +
                       short_hash(now->sha256));
  }
}

void check_inputs(const Record& record, const std::string& folder, std::set<std::string>& seen,
                  std::vector<std::string>& problems) {
  const bool is_source = record.kind == trace::Kind::kUpload || record.kind == trace::Kind::kOnce;
  if (!is_source) return;
  for (const trace::TracedFile& file : record.inputs) {
    if (!seen.insert(file.sha256).second) continue;
    const std::string name = printable(file.path) + " (sha256 " + short_hash(file.sha256) + ")";
    if (folder.empty()) {
      problems.push_back("the input " + name + " is kept with the trace; give --trace DIR");
      continue;
    }
    const auto kept = trace::kept_input(folder, file.sha256);
    if (kept.state == trace::Kept::State::kGone)
      problems.push_back("the input " + name + " is gone: it is not in " + printable(folder));
    if (kept.state == trace::Kept::State::kChanged)
      problems.push_back("the input " + name + " has changed in " + printable(folder));
  }
}

}  // namespace

std::vector<std::string> find_problems(const Selection& selection, const World& world) {
  std::vector<std::string> problems;
  std::set<std::string> policies;
  std::set<std::string> inputs;
  for (const Part& part : selection.parts) {
    if (!part.missing.empty()) {
      std::string list;
      for (const std::uint64_t seq : part.missing)
        list += (list.empty() ? "" : ", ") + std::to_string(seq);
      problems.push_back("of session " + printable(part.records.front().session) +
                         " these records are missing: " + list +
                         "; --alone runs one record without what came before it");
    }
    for (const Record& record : part.records) {
      check_policy(record, world, policies, problems);
      check_inputs(record, selection.inputs, inputs, problems);
    }
  }
  return problems;
}

}  // namespace runner::replay
