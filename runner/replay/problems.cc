#include <set>

#include "runner/replay/replay.h"
#include "runner/text.h"
#include "runner/trace/digest.h"
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

bool fits_its_hash(const trace::Traced& traced) {
  return traced.text.size() == traced.bytes &&
         (traced.sha256.empty() || traced.sha256 == trace::sha256(traced.text));
}

// Of what was cut nobody can say: streams at their cap, results all or nothing.
bool is_true_stream(const trace::Traced& traced) {
  const bool is_cut = traced.bytes > trace::kMostText && traced.text.size() < traced.bytes;
  return is_cut || fits_its_hash(traced);
}

bool is_true_result(const trace::Traced& traced) {
  const bool is_left_out = traced.bytes > 0 && traced.text.empty();
  return is_left_out || fits_its_hash(traced);
}

// Somebody may have edited a record; whether it runs as it says would then tell nothing.
void check_itself(const Record& record, std::vector<std::string>& problems) {
  const auto changed = [&](const std::string& what) {
    problems.push_back(what + " of the record " + printable(record.id) +
                       " has been edited: it is not what its sha256 says");
  };
  if (!record.code_sha256.empty() && record.code_sha256 != trace::sha256(record.code))
    changed("the code");
  if (!is_true_stream(record.out)) changed("stdout");
  if (!is_true_stream(record.err)) changed("stderr");
  std::size_t number = 0;
  for (const trace::TracedResult& result : record.results) {
    ++number;
    for (const auto& [type, traced] : result.data)
      if (!is_true_result(traced))
        changed("result " + std::to_string(number) + " as " + printable(type));
  }
}

std::string text_of(const Numbers& numbers) {
  std::string first = std::to_string(numbers.first);
  if (numbers.first == numbers.last) return first;
  return first + (numbers.last == numbers.first + 1 ? ", " : " to ") + std::to_string(numbers.last);
}

void check_numbers(const Part& part, std::vector<std::string>& problems) {
  const std::string session = "of session " + printable(part.records.front().session) + " ";
  if (!part.missing.empty()) {
    std::string list;
    for (const Numbers& numbers : part.missing)
      list += (list.empty() ? "" : ", ") + text_of(numbers);
    problems.push_back(session + "these records are missing: " + list +
                       "; --alone runs one record without what came before it");
  }
  for (const std::uint64_t number : part.twice)
    problems.push_back(session + "two different records have the number " + std::to_string(number));
}

}  // namespace

std::vector<std::string> find_problems(const Selection& selection, const World& world) {
  std::vector<std::string> problems;
  std::set<std::string> policies;
  std::set<std::string> inputs;
  for (const Part& part : selection.parts) {
    check_numbers(part, problems);
    for (const Record& record : part.records) {
      check_itself(record, problems);
      check_policy(record, world, policies, problems);
      check_inputs(record, selection.inputs, inputs, problems);
    }
  }
  return problems;
}

}  // namespace runner::replay
