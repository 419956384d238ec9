#include "runner/session/rules.h"

#include <algorithm>
#include <string>
#include <vector>

#include "jail/syscalls.h"

namespace runner {
namespace {

bool holds(const jail::ArgTest& test, const jail::Denied& call) {
  const std::uint64_t value = call.args.at(test.arg) & test.mask;
  switch (test.op) {
    case jail::CompareOp::kEqual:
      return value == test.value;
    case jail::CompareOp::kNotEqual:
      return value != test.value;
    case jail::CompareOp::kLess:
      return value < test.value;
    case jail::CompareOp::kLessEqual:
      return value <= test.value;
    case jail::CompareOp::kGreater:
      return value > test.value;
    case jail::CompareOp::kGreaterEqual:
      return value >= test.value;
  }
  return false;
}

// Would this entry let the call through?
bool allows(const policies::SyscallEntry& entry, const jail::Denied& call) {
  if (entry.number != call.number) return false;
  const auto all_hold = [&](const policies::Tests& tests) {
    return std::all_of(tests.begin(), tests.end(),
                       [&](const jail::ArgTest& test) { return holds(test, call); });
  };
  return entry.alternatives.empty() ||
         std::any_of(entry.alternatives.begin(), entry.alternatives.end(), all_hold);
}

bool allows(const policies::SyscallSet& set, const jail::Denied& call) {
  return std::any_of(set.entries.begin(), set.entries.end(),
                     [&](const policies::SyscallEntry& entry) { return allows(entry, call); });
}

std::string line_for(const policies::SyscallSet& set) {
  std::string line = "[syscalls] allow = [\"@" + set.name + "\"]";
  if (!set.weakens.empty()) line += " and [unsafe] " + set.weakens + " = \"your reason\"";
  return line;
}

bool is_never(const policies::SyscallTable& table, int number) {
  const auto never = table.never();
  return never && std::any_of((*never)->begin(), (*never)->end(),
                              [&](const auto& entry) { return entry.number == number; });
}

// The word of syscalls.deny that outranks the sets, or "".
std::string denying_word(const policies::Policy& policy, const std::string& name,
                         const std::vector<const policies::SyscallSet*>& sets) {
  for (const std::string& word : policy.syscalls.deny) {
    if (word == name) return word;
    for (const policies::SyscallSet* set : sets) {
      if (word == "@" + set->name) return word;
    }
  }
  return "";
}

}  // namespace

DenyRule rule_for(const policies::Policy& policy, const policies::SyscallTable& table,
                  const jail::Denied& call) {
  if (is_never(table, call.number)) return {"never", ""};
  const auto sets = table.sets_with(call.number);
  if (!sets || sets->empty()) return {"unknown", ""};
  const std::string word = denying_word(policy, jail::syscall_name(call.number), *sets);
  if (!word.empty()) return {"syscalls.deny", "[syscalls] deny without \"" + word + "\""};
  for (const policies::SyscallSet* set : *sets) {
    if (allows(*set, call)) return {set->name, line_for(*set)};
  }
  return {sets->front()->name, ""};
}

}  // namespace runner
