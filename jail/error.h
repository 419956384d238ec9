// How a set-up failure keeps its identity between the child that met it and the caller who reads
// about it: a fixed struct of step, index and errno. It becomes prose once, in the caller
// (`describe`), which also knows the Spec the index points into. Errors are about us; how the
// user's code ended is an Outcome and never travels here.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace jail {

struct Spec;

// One value per call site that can fail. Order is the order in which a jail is made.
enum class Step : std::uint16_t {
  kNone = 0,
  // the caller and the spawner
  kPlan,          // a plan or command could not be built or did not validate
  kSpawnerStart,  // the spawner could not be started or died
  kProtocol,      // a message was malformed, too long, or out of order
  kSingleThread,  // the spawner found a second thread in itself
  kOuterUserNs,   // unshare(CLONE_NEWUSER) of the spawner
  kOuterIdMap,    // uid_map / gid_map of the spawner's user namespace
  kCgroup,        // make, limit or enter the jail's cgroup
  kPrototype,     // there is no such prototype, or it died
  kSlots,         // no free uid slot: too many jails at once
  kClone,         // clone3 of init into its namespaces
  kIdMap,         // uid_map / gid_map of the jail
  // init, while making the jail
  kIdentity,       // setgroups / setresgid / setresuid of init
  kPrivateMounts,  // make the mount tree private
  kOpenSource,     // open_tree of mounts[index]
  kRoot,           // tmpfs root
  kMount,          // attach mounts[index]
  kProc,           // /proc of the own pid namespace
  kPivotRoot,
  kDetachOldRoot,
  kReadOnlyRoot,
  kHostname,
  kLoopback,
  kLandlockRules,  // build the ruleset; index = mounts[index]
  kReport,         // init could not report
  // the payload, after fork
  kFork,
  kJoin,   // setns; index: see join.h, Namespace
  kInput,  // copy inputs[index] into the jail
  kSetsid,
  kStdio,
  kChdir,
  kRlimit,       // rlimits[index]
  kBoundingSet,  // index = capability number
  kSecurebits,
  kClearCaps,
  kNoNewPrivs,
  kCloseRange,
  kLandlock,
  kSeccomp,
  kExec,  // ENOENT: not found (127); EACCES, ENOEXEC: cannot be run (126)
  kLast = kExec,
};

// Trivially copyable: travels by pipe and datagram. `error` is an errno value, > 0.
struct SetupError {
  Step step = Step::kNone;
  std::uint16_t index = 0;
  std::int32_t error = 0;
  bool operator==(const SetupError&) const = default;
};

template <class T>
using Result = tl::expected<T, SetupError>;

inline tl::unexpected<SetupError> fail(Step step, int error, std::uint16_t index = 0) {
  return tl::unexpected<SetupError>(SetupError{step, index, error});
}

// "mount", "pivot_root", ... the word for a step in messages and JSON.
const char* step_name(Step step) noexcept;

// The errno's symbol, "EPERM"; "errno 4711" where it has none.
std::string errno_name(int error);

// One line: `mount[3] /opt/venv: EPERM (what that usually means and how to mend it)`. `spec` may
// be null; the object is then left out.
std::string describe(const SetupError& error, const Spec* spec);

}  // namespace jail
