#include "jail/identity.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/securebits.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "jail/fd.h"
#include "jail/text_file.h"

namespace jail {
namespace {

// 2^20 pids times 1024 ids fill 2^30 ids from 2^30 up; pids wrap at 2^22 at the most, and two
// spawners would need pids exactly 2^20 apart to meet.
constexpr std::uint32_t kFirstHostId = 0x40000000;

bool has_cap(cap_value_t cap) {
  cap_t caps = ::cap_get_proc();
  if (caps == nullptr) return false;
  cap_flag_value_t value = CAP_CLEAR;
  const int rc = ::cap_get_flag(caps, cap, CAP_EFFECTIVE, &value);
  ::cap_free(caps);
  return rc == 0 && value == CAP_SET;
}

// The id block within what this process's own namespace maps.
std::optional<std::uint32_t> pick(const char* map_file, pid_t keeper) {
  const auto text = read_file(AT_FDCWD, map_file);
  if (!text) return std::nullopt;
  const std::uint32_t wish =
      kFirstHostId + (static_cast<std::uint32_t>(keeper) & 0xfffffU) * kBlockSize;
  std::optional<std::uint32_t> fallback;
  const char* p = text->c_str();
  unsigned inside = 0;
  unsigned outside = 0;
  unsigned count = 0;
  int used = 0;
  while (std::sscanf(p, "%u %u %u%n", &inside, &outside, &count, &used) == 3) {
    const std::uint64_t end = std::uint64_t{inside} + count;
    if (wish >= inside && std::uint64_t{wish} + kBlockSize <= end) return wish;
    // Blocks above the ids a distribution hands to people and services.
    const std::uint32_t low = inside < 20000 ? 20000 : inside;
    if (end >= std::uint64_t{low} + kBlockSize) {
      const auto blocks = static_cast<std::uint32_t>((end - low) / kBlockSize);
      fallback = low + (static_cast<std::uint32_t>(keeper) % blocks) * kBlockSize;
    }
    p += used;
  }
  return fallback;
}

int write_map(int proc, pid_t pid, const char* name, std::uint32_t inside, std::uint32_t outside,
              std::uint32_t count) {
  std::array<char, 64> path;
  std::array<char, 64> line;
  std::snprintf(path.data(), path.size(), "%d/%s", pid, name);
  std::snprintf(line.data(), line.size(), "%u %u %u\n", inside, outside, count);
  return write_file(proc, path.data(), line.data());
}

}  // namespace

IdBlock choose_block(pid_t keeper) {
  const IdBlock own{::geteuid(), ::getegid(), 1};
  if (!has_cap(CAP_SETUID) || !has_cap(CAP_SETGID)) return own;
  const auto uid = pick("/proc/self/uid_map", keeper);
  const auto gid = pick("/proc/self/gid_map", keeper);
  if (!uid || !gid) return own;
  return IdBlock{*uid, *gid, kBlockSize};
}

Result<void> map_outer(int proc, pid_t worker, const IdBlock& block) {
  if (block.count == 1) {
    // user_namespaces(7): an unprivileged writer must deny setgroups before gid_map.
    std::array<char, 64> path;
    std::snprintf(path.data(), path.size(), "%d/setgroups", worker);
    if (const int e = write_file(proc, path.data(), "deny"); e != 0)
      return fail(Step::kOuterIdMap, e);
  }
  int e = write_map(proc, worker, "uid_map", 0, block.first_uid, block.count);
  if (e == 0) e = write_map(proc, worker, "gid_map", 0, block.first_gid, block.count);
  if (e != 0) return fail(Step::kOuterIdMap, e);
  return {};
}

Result<void> map_jail(int proc, pid_t init, Identity inside, const IdBlock& block,
                      std::uint32_t slot) {
  const std::uint32_t outside = block.count == 1 ? 0 : 1 + slot;
  int e = write_map(proc, init, "uid_map", inside.uid.value, outside, 1);
  if (e == 0) e = write_map(proc, init, "gid_map", inside.gid.value, outside, 1);
  if (e != 0) return fail(Step::kIdMap, e);
  return {};
}

Result<void> become(Id uid, Id gid) {
  // EPERM: rootless, where user_namespaces(7) wants setgroups denied. Hello says so.
  if (::setgroups(0, nullptr) != 0 && errno != EPERM) return fail(Step::kIdentity, errno);
  if (::setresgid(gid.value, gid.value, gid.value) != 0) return fail(Step::kIdentity, errno, 1);
  if (::setresuid(uid.value, uid.value, uid.value) != 0) return fail(Step::kIdentity, errno, 2);
  return {};
}

Result<void> drop_bounding_set() {
  for (unsigned cap = 0; cap < 64; ++cap) {
    if (::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0) continue;
    if (errno == EINVAL) return {};  // past the last capability this kernel knows
    return fail(Step::kBoundingSet, errno, static_cast<std::uint16_t>(cap));
  }
  return {};
}

Result<void> lock_securebits() {
  constexpr unsigned long kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (::prctl(PR_SET_SECUREBITS, kBits, 0, 0, 0) != 0) return fail(Step::kSecurebits, errno);
  return {};
}

Result<void> clear_capabilities() {
  // The raw call: libcap's cap_set_proc allocates, and this runs after fork.
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return fail(Step::kClearCaps, errno);
  return {};
}

}  // namespace jail
