#include "runner/reach/static_reach.h"

#include <sys/resource.h>

#include <array>
#include <filesystem>
#include <map>
#include <system_error>

#include "jail/bpf.h"
#include "jail/syscalls.h"
#include "policies/allowed.h"
#include "policies/compile.h"
#include "runner/reach/acts.h"

namespace runner::reach {
namespace {

using policies::Policy;
using policies::SyscallTable;

tl::unexpected<Error> policy_error(const std::string& text) {
  return fail(ErrorKind::kPolicy, text);
}

struct Group {
  std::string name;
  int rank = 0;
};

// The first set that lists a call is its group; what is in none, or never, says so.
Result<std::map<int, Group>> groups(const SyscallTable& table) {
  std::map<int, Group> result;
  int rank = 0;
  for (const std::string& name : table.set_names()) {
    const auto set = table.set(name);
    if (!set) return policy_error(set.error().text);
    for (const policies::SyscallEntry& entry : (*set)->entries) {
      result.emplace(entry.number, Group{name, rank});
    }
    ++rank;
  }
  const auto never = table.never();
  if (!never) return policy_error(never.error().text);
  for (const policies::NeverEntry& entry : **never) {
    result.emplace(entry.number, Group{"never", rank});
  }
  return result;
}

// The tests that the sets in force put on each call, as they are written.
Result<std::map<int, std::vector<std::string>>> conditions(const Policy& policy,
                                                           const SyscallTable& table) {
  std::map<int, std::vector<std::string>> result;
  for (const std::string& word : policy.syscalls.allow) {
    if (!word.starts_with('@')) continue;
    const auto set = table.set(std::string_view(word).substr(1));
    if (!set) return policy_error(set.error().text);
    for (const policies::SyscallEntry& entry : (*set)->entries) {
      auto& when = result[entry.number];
      when.insert(when.end(), entry.when.begin(), entry.when.end());
    }
  }
  return result;
}

Result<void> add_calls(Surface& surface, const Policy& policy, const SyscallTable& table,
                       const jail::BpfProgram& program) {
  auto calls = all_calls(table, Opening::kClosed);
  if (!calls) return tl::unexpected(calls.error());
  const auto tests = conditions(policy, table);
  if (!tests) return tl::unexpected(tests.error());
  for (Call& call : *calls) {
    if (!jail::reaches(program, call.number)) continue;
    call.opening = jail::always_allows(program, call.number) ? Opening::kOpen : Opening::kTested;
    const auto when = tests->find(call.number);
    if (call.opening == Opening::kTested && when != tests->end()) call.when = when->second;
  }
  surface.calls = std::move(*calls);
  return {};
}

Path path_of(const jail::Mount& mount) {
  Path path;
  path.path = mount.target;
  path.place = Place::kMade;
  if (mount.kind == jail::MountKind::kBind) path.place = Place::kHost;
  if (mount.kind == jail::MountKind::kTmpfs) {
    path.place = Place::kMemory;
    path.max_bytes = mount.size.value;
  }
  path.write = mount.access == jail::Access::kReadWrite ? Write::kYes : Write::kNo;
  path.run = mount.exec == jail::Exec::kExec ? Run::kYes : Run::kNo;
  return path;
}

bool is_here(const jail::Mount& mount) {
  std::error_code error;
  return mount.presence == jail::Presence::kRequired ||
         std::filesystem::exists(mount.source, error);
}

void add_paths(Surface& surface, const jail::Spec& spec) {
  for (const jail::Mount& mount : spec.mounts) {
    switch (mount.kind) {
      case jail::MountKind::kDevice:
        surface.devices.push_back(mount.target);
        break;
      case jail::MountKind::kDevpts:
        surface.devices.emplace_back("/dev/ptmx");
        surface.devices.push_back(mount.target);
        break;
      case jail::MountKind::kMqueue:
        surface.paths.push_back({mount.target, Place::kOther, Write::kYes, Run::kNo, 0});
        break;
      case jail::MountKind::kBind:
      case jail::MountKind::kTmpfs:
      case jail::MountKind::kFile:
        if (is_here(mount)) surface.paths.push_back(path_of(mount));
        break;
      case jail::MountKind::kSymlink:  // leads to what is listed by itself
      case jail::MountKind::kDir:
        break;
    }
  }
  surface.paths.push_back({spec.code_dir, Place::kMade, Write::kNo, Run::kNo, 0});
  if (spec.proc == jail::ProcView::kNone) return;
  surface.paths.push_back({"/proc", Place::kProc, Write::kNo, Run::kNo, 0});
}

std::string processes_seen(jail::ProcView proc) {
  switch (proc) {
    case jail::ProcView::kNone:
      return "none: there is no /proc; numbers lead to its own processes only";
    case jail::ProcView::kOwnPids:
      return "its own; /proc shows nothing else of the host";
    case jail::ProcView::kMasked:
      break;
  }
  return "its own; /proc shows host-wide files, the worst of them masked";
}

struct ResourceName {
  int resource;
  const char* name;
  const char* unit;
  std::uint64_t factor;  // from the resource's own unit
};
constexpr std::array kResources{
    ResourceName{RLIMIT_CORE, "core_file", "bytes", 1},
    ResourceName{RLIMIT_NOFILE, "open_files", "count", 1},
    ResourceName{RLIMIT_FSIZE, "file_size", "bytes", 1},
    ResourceName{RLIMIT_CPU, "cpu_time_each", "ms", 1000},
    ResourceName{RLIMIT_STACK, "stack", "bytes", 1},
    ResourceName{RLIMIT_MEMLOCK, "locked_memory", "bytes", 1},
    ResourceName{RLIMIT_MSGQUEUE, "message_queues", "bytes", 1},
    ResourceName{RLIMIT_SIGPENDING, "pending_signals", "count", 1},
    ResourceName{RLIMIT_RTPRIO, "realtime_priority", "count", 1},
    ResourceName{RLIMIT_NICE, "nice", "count", 1},
    ResourceName{RLIMIT_RTTIME, "realtime_time", "us", 1},
};

std::uint64_t millis(jail::Millis time) { return static_cast<std::uint64_t>(time.count()); }

void add_limits(Surface& surface, const Policy& policy, const jail::Spec& spec) {
  const char* all = "all processes together";
  surface.limits = {
      {"memory", spec.totals.memory.value, "bytes", all},
      {"processes", spec.totals.processes, "count", all},
      {"cpu_time", millis(spec.totals.cpu_time), "ms", all},
      {"wall_time", millis(policy.limits.wall_time), "ms", "one execution"},
      {"output", policy.limits.output.value, "bytes", "stdout and stderr, each"},
  };
  for (const jail::Rlimit& limit : spec.rlimits) {
    for (const ResourceName& r : kResources) {
      if (r.resource != limit.resource) continue;
      surface.limits.push_back({r.name, limit.hard * r.factor, r.unit, "each process"});
    }
  }
}

}  // namespace

Result<std::vector<Call>> all_calls(const SyscallTable& table, Opening opening) {
  const auto group_of = groups(table);
  if (!group_of) return tl::unexpected(group_of.error());
  std::vector<Call> calls;
  for (int number = 0; number <= jail::kLastSyscall; ++number) {
    const std::string name = jail::syscall_name(number);
    if (name.find(' ') != std::string::npos) continue;  // "syscall 512": no call of that number
    const auto found = group_of->find(number);
    constexpr int kLast = 1000;
    const Group group = found == group_of->end() ? Group{"in no set", kLast} : found->second;
    calls.push_back({number, name, group.name, group.rank, opening, {}});
  }
  return calls;
}

Result<Surface> static_reach(const Policy& policy, const SyscallTable& table) {
  Surface surface;
  surface.subject = policy.name;
  surface.no_new_privileges = true;
  if (policy.mode == policies::Mode::kRestricted) {
    auto calls = all_calls(table, Opening::kClosed);
    if (!calls) return tl::unexpected(calls.error());
    surface.calls = std::move(*calls);
    surface.acts = all_acts(Opening::kClosed);
    surface.filter = "no process is started";
    surface.network = surface.processes = "none: no process is started";
    return surface;
  }
  const auto spec = policies::to_spec(policy, table, {});
  if (!spec) return policy_error(spec.error().text);
  const auto program = jail::compile_filter(spec->filter);
  if (!program) {
    return tl::unexpected(
        Error{ErrorKind::kSetup, jail::describe(program.error(), &*spec), program.error()});
  }
  if (auto r = add_calls(surface, policy, table, *program); !r) return tl::unexpected(r.error());
  surface.filter = "allow-list of system calls and their arguments";
  surface.acts = acts_under(*program);
  surface.sockets = sockets_under(*program);
  surface.network = spec->loopback == jail::Loopback::kUp
                        ? "a network of its own: loopback, and no way out"
                        : "a network of its own without an interface";
  add_paths(surface, *spec);
  surface.processes = processes_seen(spec->proc);
  // jail/README.md: fresh ones for each jail; every capability is dropped, the bounding set too.
  surface.namespaces = {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"};
  add_limits(surface, policy, *spec);
  return surface;
}

}  // namespace runner::reach
