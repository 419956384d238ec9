#include "runner/session/denied.h"

#include <algorithm>

#include "jail/syscalls.h"
#include "runner/session/syscall_args.h"

namespace runner {

std::vector<DeniedEntry> explain_denied(std::span<const jail::Denied> denied,
                                        const RuleOf& rule_of) {
  std::vector<DeniedEntry> entries;
  for (const jail::Denied& call : denied) {
    DenyRule rule = rule_of(call);
    DeniedEntry entry{jail::syscall_name(call.number), describe_args(call), call.count,
                      std::move(rule.rule), std::move(rule.allow_with)};
    const auto same = std::find_if(entries.begin(), entries.end(), [&](const DeniedEntry& known) {
      return known.syscall == entry.syscall && known.args == entry.args;
    });
    if (same != entries.end()) {
      same->count += entry.count;
    } else {
      entries.push_back(std::move(entry));
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const DeniedEntry& a, const DeniedEntry& b) { return a.count > b.count; });
  return entries;
}

std::string denied_line(std::span<const DeniedEntry> denied, std::uint64_t total) {
  constexpr std::size_t kShown = 5;
  std::string line;
  std::uint64_t shown_calls = 0;
  for (const DeniedEntry& entry : denied.first(std::min(kShown, denied.size()))) {
    if (!line.empty()) line += "; ";
    line += "denied " + entry.syscall + "(" + entry.args + ") x" + std::to_string(entry.count);
    if (!entry.rule.empty()) line += ": rule " + entry.rule;
    if (!entry.allow_with.empty()) line += "; allowed by " + entry.allow_with;
    shown_calls += entry.count;
  }
  if (denied.size() > kShown) {
    line += "; and " + std::to_string(denied.size() - kShown) + " more kinds of call";
  }
  if (!line.empty() && total > shown_calls) {
    line += "; " + std::to_string(total) + " refused calls in all";
  }
  return line;
}

}  // namespace runner
