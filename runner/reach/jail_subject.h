// Probes in real jails: one fresh jail a probe, under a policy, started as `sandglass exec` starts
// a command, from one spawner whose event loop has a thread of its own.
#pragma once

#include <memory>
#include <string>

#include "jail/client.h"
#include "policies/load.h"
#include "runner/error.h"
#include "runner/reach/outside.h"
#include "runner/reach/subject.h"
#include "runner/session/home.h"
#include "runner/session/job.h"

namespace runner::reach {

// The policy as probes run under it: whole, and tightened for those that fill what there is.
struct JailPlans {
  std::string word;      // the name or path by which the library finds the policy
  std::string declared;  // the shipped policy that it is or comes from; "": from none
  bool shipped = false;  // it is one itself
  Prepared full;
  Prepared small;

  // What is declared: of a shipped policy its own, of another one that what its shipped ancestor
  // blocks is blocked; of one without, what `loose` blocks.
  // `memory`: who sees to it on this host.
  [[nodiscard]] std::optional<Verdict> expected(const Probe& probe, std::string_view mode,
                                                jail::Enforcer memory) const;
  [[nodiscard]] const Prepared& of(const Probe& probe) const {
    return probe.room == Room::kSmall ? small : full;
  }
};

// Where the helper lies in these jails.
inline constexpr const char* kHelperInside = "/reach/sandglass-reach";

// The helper that carries out the attempt's probe, sealed as a payload takes it. kSetup: too long.
Result<jail::Fd> helper_command(const Prepared& prepared, const Attempt& attempt);

// kPolicy, kSetup, kUsage: a policy that starts no process.
Result<JailPlans> prepare_plans(const Home& home, const policies::Library& library,
                                const std::string& policy, const Outside& outside);

// What is passed must outlive it. kSpawner: it cannot be started.
Result<std::unique_ptr<Subject>> make_jail_subject(const Home& home,
                                                   const policies::Library& library,
                                                   const JailPlans& plans);

// The same by joining, as sessions start: the helper in a jail that it joins, Python probes in real
// sessions. Probes of limits that a session counts by itself are left out.
Result<std::unique_ptr<Subject>> make_session_subject(const Home& home, const JailPlans& plans);

}  // namespace runner::reach
