#include "jail/error.h"

#include <cerrno>
#include <cstring>

#include "jail/spec.h"

namespace jail {
namespace {

struct StepText {
  Step step;
  const char* name;
};

constexpr StepText kNames[] = {
    {Step::kNone, "none"},
    {Step::kPlan, "plan"},
    {Step::kSpawnerStart, "spawner"},
    {Step::kProtocol, "protocol"},
    {Step::kSingleThread, "single_thread"},
    {Step::kOuterUserNs, "outer_user_namespace"},
    {Step::kOuterIdMap, "outer_id_map"},
    {Step::kCgroup, "cgroup"},
    {Step::kPrototype, "prototype"},
    {Step::kSlots, "slots"},
    {Step::kClone, "clone"},
    {Step::kIdMap, "id_map"},
    {Step::kIdentity, "identity"},
    {Step::kPrivateMounts, "private_mounts"},
    {Step::kOpenSource, "open_source"},
    {Step::kRoot, "root"},
    {Step::kMount, "mount"},
    {Step::kProc, "proc"},
    {Step::kPivotRoot, "pivot_root"},
    {Step::kDetachOldRoot, "detach_old_root"},
    {Step::kReadOnlyRoot, "read_only_root"},
    {Step::kHostname, "hostname"},
    {Step::kLoopback, "loopback"},
    {Step::kLandlockRules, "landlock_rules"},
    {Step::kReport, "report"},
    {Step::kFork, "fork"},
    {Step::kJoin, "join"},
    {Step::kInput, "input"},
    {Step::kSetsid, "setsid"},
    {Step::kStdio, "stdio"},
    {Step::kChdir, "chdir"},
    {Step::kRlimit, "rlimit"},
    {Step::kBoundingSet, "bounding_set"},
    {Step::kSecurebits, "securebits"},
    {Step::kClearCaps, "clear_capabilities"},
    {Step::kNoNewPrivs, "no_new_privs"},
    {Step::kCloseRange, "close_range"},
    {Step::kLandlock, "landlock"},
    {Step::kSeccomp, "seccomp"},
    {Step::kExec, "exec"},
};

constexpr const char* kProcesses = "no more processes allowed for this user: see ulimit -u";

// What a step's failure usually means and how to mend it; null where nothing useful is known.
const char* advice(const SetupError& e) {
  if (e.error == EMFILE) return "no more descriptors for this process: raise ulimit -n";
  if (e.error == ENFILE)
    return "no more descriptors on this host: raise ulimit -n, and fs.file-max";
  switch (e.step) {
    case Step::kFork:
      return e.error == EAGAIN ? kProcesses : nullptr;
    case Step::kPlan:
      return e.error == E2BIG ? "too much for one jail: fewer binds or arguments" : nullptr;
    case Step::kReport:
      if (e.error == EPIPE || e.error == ECHILD)
        return "the jail was killed from outside while it was being made; try again";
      return nullptr;
    case Step::kOuterUserNs:
    case Step::kClone:
      if (e.error == ENOSPC)
        return "the limit of user namespaces is reached: raise user.max_user_namespaces";
      if (e.error == EPERM || e.error == EACCES)
        return "user namespaces are not allowed here: sysctl kernel.unprivileged_userns_clone=1, "
               "or an AppArmor profile that allows userns, or seccomp=unconfined for the container";
      return e.error == EAGAIN ? kProcesses : nullptr;
    case Step::kOpenSource:
    case Step::kMount:
      if (e.error == ENOENT && e.step == Step::kMount)
        return "a read-only folder is shown above it, and has nothing of that name";
      if (e.error == ENOENT) return "no such path on this host";
      if (e.error == EINVAL && e.step == Step::kOpenSource)
        return "it is, or leads to, the host's root or a file system of the kernel's";
      if (e.error == EACCES || e.error == EPERM) return "the sandbox uid can't read it";
      return nullptr;
    case Step::kProc:
      return "the kernel refuses a fresh /proc where the host's own is covered by other mounts: "
             "run outside the container, or give it systempaths=unconfined, or use a policy "
             "without /proc (files.proc = \"none\")";
    case Step::kSlots:
      return "too many jails at once: wait for one to end";
    case Step::kInput:
      if (e.error == ENOSPC) return "the input does not fit: raise files.workdir.size";
      if (e.error == EDQUOT || e.error == EFBIG) return "the input is over the size limit";
      return nullptr;
    case Step::kExec:
      if (e.error == ENOENT) return "not found inside the jail";
      if (e.error == EACCES) return "not executable inside the jail";
      if (e.error == ENOEXEC) return "not a program this machine can run";
      if (e.error == E2BIG) return "arguments and environment are too large";
      return nullptr;
    case Step::kProtocol:
      return "the spawner is gone";
    case Step::kSpawnerStart:
      if (e.error == ENOENT)
        return "sandglass-spawner is not beside sandglass: build or install it";
      return e.error == EAGAIN ? kProcesses : nullptr;
    default:
      return nullptr;
  }
}

std::string object_of(const SetupError& e, const Spec& spec) {
  const bool is_mount =
      e.step == Step::kMount || e.step == Step::kOpenSource || e.step == Step::kLandlockRules;
  if (is_mount && e.index < spec.mounts.size()) {
    const Mount& m = spec.mounts[e.index];
    return e.step == Step::kOpenSource ? m.source : m.target;
  }
  if (e.step == Step::kRlimit && e.index < spec.rlimits.size())
    return "resource " + std::to_string(spec.rlimits[e.index].resource);
  return {};
}

bool is_indexed(Step step) {
  return step == Step::kMount || step == Step::kOpenSource || step == Step::kLandlockRules ||
         step == Step::kRlimit || step == Step::kInput || step == Step::kBoundingSet;
}

}  // namespace

const char* step_name(Step step) noexcept {
  for (const StepText& entry : kNames)
    if (entry.step == step) return entry.name;
  return "unknown";
}

std::string errno_name(int error) {
  const char* name = ::strerrorname_np(error);
  return name != nullptr ? name : "errno " + std::to_string(error);
}

std::string describe(const SetupError& error, const Spec* spec) {
  std::string text = step_name(error.step);
  if (is_indexed(error.step)) text += "[" + std::to_string(error.index) + "]";
  if (spec != nullptr) {
    const std::string object = object_of(error, *spec);
    if (!object.empty()) text += " " + object;
  }
  text += ": " + errno_name(error.error);
  if (const char* hint = advice(error)) text += std::string(" (") + hint + ")";
  return text;
}

}  // namespace jail
