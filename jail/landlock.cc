// landlock(7), Documentation/userspace-api/landlock.rst. Rights by ABI: 1 the thirteen of 5.13,
// 2 REFER, 3 TRUNCATE, 4 TCP bind and connect, 5 IOCTL_DEV, 6 scopes. The numbers are given here
// since Debian 12's headers stop at ABI 2.
#include "jail/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace jail {
namespace {

constexpr std::uint64_t kExecute = 1U << 0U;
constexpr std::uint64_t kWriteFile = 1U << 1U;
constexpr std::uint64_t kReadFile = 1U << 2U;
constexpr std::uint64_t kReadDir = 1U << 3U;
constexpr std::uint64_t kMakeChar = 1U << 6U;
constexpr std::uint64_t kMakeBlock = 1U << 11U;
constexpr std::uint64_t kIoctlDev = 1U << 15U;

constexpr std::uint64_t kNetBoth = 3;    // bind, connect
constexpr std::uint64_t kScopeBoth = 3;  // abstract unix sockets, signals

// The attribute as ABI 6 has it; shorter kernels take a prefix of it.
struct RulesetAttr {
  std::uint64_t fs;
  std::uint64_t net;
  std::uint64_t scoped;
};

std::uint64_t all_fs(int abi) {
  unsigned bits = 13;
  if (abi >= 2) bits = 14;
  if (abi >= 3) bits = 15;
  if (abi >= 5) bits = 16;
  return (std::uint64_t{1} << bits) - 1;
}

std::size_t attr_size(int abi) {
  if (abi >= 6) return sizeof(RulesetAttr);
  return abi >= 4 ? 16 : 8;
}

constexpr std::uint64_t kFileRights = kExecute | kWriteFile | kReadFile | (1U << 14U) | kIoctlDev;

std::uint64_t rights_of(const PlanMount& m, std::uint64_t all) {
  switch (m.kind) {
    case MountKind::kTmpfs: {
      if (m.access == Access::kReadOnly) return kReadFile | kReadDir;
      std::uint64_t rights = all & ~(kMakeChar | kMakeBlock | kIoctlDev | kExecute);
      if (m.exec == Exec::kExec) rights |= kExecute;
      return rights;
    }
    case MountKind::kDevice:
      return kReadFile | kWriteFile | kIoctlDev;
    case MountKind::kMqueue:
      // mq_open(3) opens below a mount that is in no tree; it shares its root with this one.
      return all & ~(kMakeChar | kMakeBlock | kIoctlDev | kExecute);
    case MountKind::kDevpts:
      return kReadFile | kReadDir | kWriteFile | kIoctlDev;
    case MountKind::kBind:
      return kReadFile | kReadDir | (m.exec == Exec::kExec ? kExecute : 0);
    default:
      return kReadFile | kReadDir;
  }
}

// 0 or an errno. A path that is not there (an optional bind) needs no rule.
int add_rule(int ruleset, const char* path, std::uint64_t rights) {
  const Fd at(::open(path, O_PATH | O_CLOEXEC));
  if (!at.valid()) return errno == ENOENT ? 0 : errno;
  struct stat st {};
  if (::fstat(at.get(), &st) != 0) return errno;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(st.st_mode) ? rights : rights & kFileRights;
  rule.parent_fd = at.get();
  return ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0
             ? 0
             : errno;
}

}  // namespace

int landlock_abi() noexcept {
  const long abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

Result<Fd> landlock_rules(const PlanView& plan, int abi) {
  if (abi <= 0) return Fd();
  const std::uint64_t all = all_fs(abi);
  RulesetAttr attr{all, 0, 0};
  if (abi >= 4 && plan.header().landlock_net == LandlockNet::kDenyTcp) attr.net = kNetBoth;
  if (abi >= 6) attr.scoped = kScopeBoth;
  Fd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attr, attr_size(abi), 0)));
  if (!ruleset.valid()) return fail(Step::kLandlockRules, errno);
  const auto mounts = plan.mounts();
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    // A symlink is judged by where it leads; folders and files of the root by the root's rule.
    if (mounts[i].kind == MountKind::kSymlink) continue;
    const int e =
        add_rule(ruleset.get(), plan.text(mounts[i].target), rights_of(mounts[i], all) & all);
    if (e != 0) return fail(Step::kLandlockRules, e, static_cast<std::uint16_t>(i));
  }
  int e = 0;
  if (plan.header().code_dir.length > 0)
    e = add_rule(ruleset.get(), plan.text(plan.header().code_dir), kReadFile | kReadDir);
  // /proc/self/... is read by every libc; writing is what each file's own check decides.
  if (e == 0 && plan.header().proc != ProcView::kNone)
    e = add_rule(ruleset.get(), "/proc", kReadFile | kReadDir | kWriteFile);
  // The root and what was made in it: listing only, nothing of it can be written or run.
  if (e == 0) e = add_rule(ruleset.get(), "/", kReadDir);
  if (e != 0) return fail(Step::kLandlockRules, e, 0xffff);
  return ruleset;
}

Result<void> landlock_enter(const Fd& ruleset) {
  if (!ruleset.valid()) return {};
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0)
    return fail(Step::kLandlock, errno);
  return {};
}

}  // namespace jail
