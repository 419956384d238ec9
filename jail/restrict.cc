#include "jail/restrict.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "jail/identity.h"
#include "jail/landlock.h"

namespace jail {
namespace {

Result<void> set_limit(int resource, std::uint64_t soft, std::uint64_t hard, std::uint16_t index) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0)
    return fail(Step::kRlimit, errno, index);
  // setrlimit(2): the hard limit can only go down without CAP_SYS_RESOURCE in the first user
  // namespace. A host that is stricter than the policy stays stricter.
  const rlimit wish{std::min<rlim_t>(soft, now.rlim_max), std::min<rlim_t>(hard, now.rlim_max)};
  if (::setrlimit(static_cast<__rlimit_resource>(resource), &wish) != 0)
    return fail(Step::kRlimit, errno, index);
  return {};
}

Result<void> set_limits(const PlanView& plan, const JailFacts& facts) {
  const auto limits = plan.rlimits();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const PlanRlimit& l = limits[i];
    if (auto r = set_limit(l.resource, l.soft, l.hard, static_cast<std::uint16_t>(i)); !r) return r;
  }
  constexpr std::uint16_t kTotals = 0xffff;
  // user_namespaces(7): RLIMIT_NPROC counts the processes of a uid in one user namespace, and each
  // jail has its own, even where all share a host uid.
  if (const std::uint64_t n = facts.process_limit; n > 0)
    if (auto r = set_limit(RLIMIT_NPROC, n, n, kTotals); !r) return r;
  if (const std::uint64_t n = facts.data_limit; n > 0) return set_limit(RLIMIT_DATA, n, n, kTotals);
  return {};
}

}  // namespace

void reset_signals() {
  // execve(2) keeps ignored signals ignored and the mask as it is: start from a clean slate. The
  // raw call, since glibc's refuses the two signals it uses itself; all zero is SIG_DFL.
  constexpr std::array<unsigned long, 4> kDefault{};
  for (int s = 1; s < NSIG; ++s)
    ::syscall(SYS_rt_sigaction, s, kDefault.data(), nullptr, sizeof(unsigned long));
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Result<void> start_session() {
  if (::setsid() < 0) return fail(Step::kSetsid, errno);
  return {};
}

Result<void> set_streams(const Fd& in, const Fd& out, const Fd& err) {
  const int fds[3] = {in.get(), out.get(), err.get()};
  // The three may themselves be 0..2: move them out of the way before they are overwritten.
  int high[3];
  for (int i = 0; i < 3; ++i) {
    high[i] = ::fcntl(fds[i], F_DUPFD_CLOEXEC, 10);
    if (high[i] < 0) return fail(Step::kStdio, errno, static_cast<std::uint16_t>(i));
  }
  for (int i = 0; i < 3; ++i) {
    if (::dup2(high[i], i) < 0) return fail(Step::kStdio, errno, static_cast<std::uint16_t>(i));
    Fd(high[i]).reset();
  }
  return {};
}

Result<void> restrict_self(const PlanView& plan, const JailFacts& facts, const Fd& landlock) {
  if (auto r = set_limits(plan, facts); !r) return r;
  // Both need CAP_SETPCAP, so before the capabilities go.
  if (auto r = drop_bounding_set(); !r) return r;
  if (auto r = lock_securebits(); !r) return r;
  if (auto r = clear_capabilities(); !r) return r;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail(Step::kNoNewPrivs, errno);
  return landlock_enter(landlock);
}

Result<int> filter_self(const PlanView& plan) {
  const auto filter = plan.filter();
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  const bool listens = plan.header().listens != 0;
  const unsigned flags = listens ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
  const long rc = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  if (rc < 0) return fail(Step::kSeccomp, errno);
  return listens ? static_cast<int>(rc) : -1;
}

}  // namespace jail
