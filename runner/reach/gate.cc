#include "runner/reach/gate.h"

#include <algorithm>

#include "runner/reach/jail_subject.h"
#include "runner/reach/outside.h"
#include "runner/reach/suite.h"
#include "runner/text.h"

namespace runner::reach {
namespace {

constexpr std::size_t kNamed = 5;

// Those that must be blocked, fill nothing and wait for nothing.
std::vector<std::string> quick_probes(const std::string& policy) {
  std::vector<std::string> ids;
  for (const Probe& probe : catalogue()) {
    const bool waits = probe.category == Category::kResources || probe.twice == Twice::kYes;
    if (probe.by != By::kHelper || probe.room != Room::kFull || waits) continue;
    if (expected_under(probe, policy).value_or(probe.expected.loose) == Verdict::kBlocked) {
      ids.emplace_back(probe.id);
    }
  }
  return ids;
}

// Null: the policy starts no process.
Result<std::optional<Report>> try_policy(const Home& home, const policies::Library& library,
                                         const std::string& name, const Outside& outside) {
  const auto policy = library.find(name);
  if (!policy) return fail(ErrorKind::kPolicy, policy.error().text);
  if (policy->mode == policies::Mode::kRestricted) return std::nullopt;
  const auto plans = prepare_plans(home, library, name, outside);
  if (!plans) return tl::unexpected(plans.error());
  const auto subject = make_jail_subject(home, library, *plans);
  if (!subject) return tl::unexpected(subject.error());
  SuiteOptions options;
  options.only = quick_probes(name);
  auto report = run_suite(outside, **subject, nullptr, options);
  if (!report) return tl::unexpected(report.error());
  return std::move(*report);
}

std::string named(const std::vector<const Row*>& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size() && i < kNamed; ++i) {
    text += (i == 0 ? "" : ", ") + std::string(rows[i]->probe->id) + " " +
            std::string(rows[i]->probe->name);
  }
  return rows.size() > kNamed ? text + " and " + std::to_string(rows.size() - kNamed) + " more"
                              : text;
}

}  // namespace

std::vector<const Row*> holes(const Report& report, Policy policy) {
  std::vector<const Row*> found;
  for (const Row& row : report.rows) {
    if (row.got.verdict != Verdict::kReached) continue;
    const bool closed =
        policy == Policy::kShipped ? row.is_hole() : row.probe->expected.loose == Verdict::kBlocked;
    if (closed) found.push_back(&row);
  }
  return found;
}

std::vector<const Row*> unanswered(const Report& report) {
  std::vector<const Row*> found;
  std::size_t impossible = 0;
  for (const Row& row : report.rows) {
    impossible += row.got.impossible ? 1U : 0U;
    if (row.got.verdict == Verdict::kInconclusive) found.push_back(&row);
  }
  // What the others say then, such as that a spawner has given up, comes of that.
  if (impossible > 0 && found.size() == report.rows.size()) return {};
  return found;
}

Result<void> prove(const Home& home, const policies::Library& library,
                   const std::vector<std::string>& policies,
                   const std::function<void(const Report&)>& tell) {
  const auto outside = Outside::make();
  if (!outside) return tl::unexpected(outside.error());
  const std::vector<std::string> shipped = library.names();
  for (const std::string& name : policies) {
    const auto report = try_policy(home, library, name, **outside);
    if (!report) return tl::unexpected(report.error());
    if (!*report) continue;
    tell(**report);
    const bool ours = std::find(shipped.begin(), shipped.end(), name) != shipped.end();
    const auto open = holes(**report, ours ? Policy::kShipped : Policy::kOwn);
    const auto mute = unanswered(**report);
    if (open.empty() && mute.empty()) continue;
    if (open.empty())
      return fail(ErrorKind::kHost,
                  "under the policy " + printable(name) +
                      " these probes gave no answer on this host: " + named(mute) + ": " +
                      mute.front()->got.detail + "; sandglass probe --policy " + printable(name) +
                      " says more");
    return fail(ErrorKind::kHost,
                "under the policy " + printable(name) +
                    " code reached what must be blocked on this host: " + named(open) +
                    "; sandglass probe --policy " + printable(name) + " says more");
  }
  return {};
}

}  // namespace runner::reach
