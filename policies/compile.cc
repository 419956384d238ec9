#include "policies/compile.h"

#include <sys/resource.h>

#include <filesystem>
#include <system_error>

#include "jail/syscalls.h"
#include "policies/allowed.h"
#include "policies/validate.h"

namespace policies {
namespace {

std::uint64_t ceil_seconds(Millis time) {
  return (static_cast<std::uint64_t>(time.count()) + 999) / 1000;
}

jail::Rlimit limit(int resource, std::uint64_t soft, std::uint64_t hard) {
  return {resource, soft, hard};
}

// RLIMIT_DATA stands in for memory where there is no cgroup, and then the spawner sets it.
// Likewise RLIMIT_NPROC: beside a cgroup it would refuse first, and nothing would tell that the
// limit was met.
// RLIMIT_AS is never set: address space is not memory (V8 and OpenBLAS reserve gigabytes).
enum class Queues { kNone, kAllowed };

std::vector<jail::Rlimit> rlimits(const Policy& policy, Queues queues) {
  const Limits& l = policy.limits;
  const std::uint64_t cpu = ceil_seconds(l.cpu_time);
  // Linux's own default for a user (msgqueue): ten queues of ten small messages.
  const std::uint64_t queue_bytes = queues == Queues::kAllowed ? 819'200 : 0;
  constexpr std::uint64_t kSignals = 512;  // each POSIX timer holds one
  constexpr std::uint64_t kMicros = 200'000;
  return {
      // 1, not 0: where core_pattern is a pipe, 0 still starts the host's core handler on a memory
      // image of the payload's making; at 1 the kernel does not (fs/coredump.c, core(5)).
      limit(RLIMIT_CORE, 1, 1),
      limit(RLIMIT_NOFILE, l.open_files, l.open_files),
      limit(RLIMIT_FSIZE, l.file_size.value, l.file_size.value),
      // The soft limit's SIGXCPU can be caught; the hard limit's SIGKILL cannot.
      limit(RLIMIT_CPU, cpu, cpu + 1),
      // The soft limit is also the size of each thread's stack.
      limit(RLIMIT_STACK, jail::mib(8).value, jail::mib(64).value),
      limit(RLIMIT_MEMLOCK, jail::kib(64).value, jail::kib(64).value),
      limit(RLIMIT_MSGQUEUE, queue_bytes, queue_bytes),
      limit(RLIMIT_SIGPENDING, kSignals, kSignals),
      limit(RLIMIT_RTPRIO, 0, 0),
      limit(RLIMIT_NICE, 0, 0),
      limit(RLIMIT_RTTIME, kMicros, kMicros),
  };
}

void allow(std::vector<jail::SyscallRule>& rules, const Allowed& allowed) {
  for (const auto& [number, call] : allowed.calls) {
    if (call.alternatives.empty()) rules.push_back({number, jail::SyscallAction::kAllow, 0, {}});
    for (const Tests& tests : call.alternatives)
      rules.push_back({number, jail::SyscallAction::kAllow, 0, tests});
  }
}

// Does `wide` hold whenever `narrow` does? Only the plain cases: the same argument, both compared
// for equality.
bool implies(const Tests& narrow, const Tests& wide) {
  return std::all_of(wide.begin(), wide.end(), [&](const jail::ArgTest& w) {
    return std::any_of(narrow.begin(), narrow.end(), [&](const jail::ArgTest& n) {
      return n.arg == w.arg && n.op == jail::CompareOp::kEqual && w.op == jail::CompareOp::kEqual &&
             (n.mask & w.mask) == w.mask && (n.value & w.mask) == w.value;
    });
  });
}

// A quiet answer yields to what a set allows: libseccomp would otherwise let an unconditional rule
// swallow the tested ones.
void answer_quietly(std::vector<jail::SyscallRule>& rules, const Allowed& allowed,
                    const std::vector<QuietEntry>& quiet) {
  for (const QuietEntry& q : quiet) {
    const auto found = allowed.calls.find(q.call.number);
    if (found != allowed.calls.end() &&
        (found->second.alternatives.empty() || q.call.alternatives.empty()))
      continue;
    if (q.call.alternatives.empty())
      rules.push_back({q.call.number, jail::SyscallAction::kErrno, q.error, {}});
    for (const Tests& tests : q.call.alternatives) {
      const bool allowed_anyway =
          found != allowed.calls.end() &&
          std::any_of(found->second.alternatives.begin(), found->second.alternatives.end(),
                      [&](const Tests& wide) { return implies(tests, wide); });
      if (allowed_anyway) continue;
      rules.push_back({q.call.number, jail::SyscallAction::kErrno, q.error, tests});
    }
  }
}

// A name that is allowed may be a link to what is not, as /var/run is. What can't be looked up is
// the spawner's to report.
std::string refuse_links(const std::vector<Bind>& binds) {
  for (const Bind& b : binds) {
    std::error_code error;
    const std::string real = std::filesystem::canonical(b.source, error).string();
    if (error || real == b.source) continue;
    if (const std::string wrong = refuse_bind_source(real); !wrong.empty())
      return '"' + b.source + "\" is a link: " + wrong;
  }
  return {};
}

}  // namespace

Result<jail::Spec> to_spec(const Policy& policy, const SyscallTable& table, const Extras& extras) {
  if (policy.mode == Mode::kRestricted)
    return fail("the policy \"" + policy.name +
                "\" starts no process; it evaluates arithmetic only: use sandglass eval, or "
                "--policy standard");
  const auto allowed = allowed_calls(policy.syscalls, table);
  if (!allowed) return fail(allowed.error().text);
  const auto quiet = table.quiet();
  if (!quiet) return tl::unexpected(quiet.error());
  if (const std::string wrong = refuse_links(policy.files.read_only); !wrong.empty())
    return fail("files.read_only " + wrong);
  auto mounts = mount_table(policy, extras);
  if (!mounts) return tl::unexpected(mounts.error());

  jail::Spec spec;
  for (Placed& placed : *mounts) spec.mounts.push_back(std::move(placed.mount));
  spec.workdir = policy.files.workdir.path;
  spec.code_dir = kCodeDir;
  spec.proc = policy.files.proc;
  spec.loopback = policy.network.loopback;
  const auto queue = jail::syscall_number("mq_open");
  spec.rlimits =
      rlimits(policy, queue && allowed->calls.contains(*queue) ? Queues::kAllowed : Queues::kNone);
  spec.totals = {policy.limits.memory, policy.limits.processes, policy.limits.cpu_time};
  spec.filter.fallback = policy.syscalls.on_deny == OnDeny::kKill ? jail::SyscallAction::kKill
                                                                  : jail::SyscallAction::kNotify;
  allow(spec.filter.rules, *allowed);
  answer_quietly(spec.filter.rules, *allowed, **quiet);
  // With loopback up the jail has TCP inside itself; without, Landlock denies it a second time.
  spec.landlock_net = policy.network.loopback == jail::Loopback::kUp ? jail::LandlockNet::kUnhandled
                                                                     : jail::LandlockNet::kDenyTcp;
  return spec;
}

}  // namespace policies
