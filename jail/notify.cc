#include "jail/notify.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "jail/syscalls.h"

namespace jail {
namespace {

// Which arguments tell one kind of call from another, as bits; and which one points at a path or
// a socket address (-1: none).
struct Shape {
  int number;
  std::uint8_t main_args;
  int text_arg;
  int length_arg;  // for an address: which argument is its length; -1: NUL-terminated
};

constexpr Shape kShapes[] = {
    {SYS_socket, 0b111, -1, -1},
    {SYS_socketpair, 0b111, -1, -1},
    {SYS_clone, 0b1, -1, -1},
    {SYS_unshare, 0b1, -1, -1},
    {SYS_setns, 0b10, -1, -1},
    {SYS_prctl, 0b1, -1, -1},
    {SYS_ioctl, 0b10, -1, -1},
    {SYS_fcntl, 0b10, -1, -1},
    {SYS_personality, 0b1, -1, -1},
    {SYS_ptrace, 0b1, -1, -1},
    {SYS_kill, 0b10, -1, -1},
    {SYS_bpf, 0b1, -1, -1},
    {SYS_keyctl, 0b1, -1, -1},
    {SYS_mmap, 0b100, -1, -1},
    {SYS_mprotect, 0b100, -1, -1},
    {SYS_prlimit64, 0b10, -1, -1},
    {SYS_connect, 0, 1, 2},
    {SYS_bind, 0, 1, 2},
    {SYS_execve, 0, 0, -1},
    {SYS_execveat, 0, 1, -1},
    {SYS_open, 0b10, 0, -1},
    {SYS_openat, 0b100, 1, -1},
    {SYS_creat, 0, 0, -1},
    {SYS_mkdir, 0, 0, -1},
    {SYS_mkdirat, 0, 1, -1},
    {SYS_rmdir, 0, 0, -1},
    {SYS_unlink, 0, 0, -1},
    {SYS_unlinkat, 0, 1, -1},
    {SYS_rename, 0, 0, -1},
    {SYS_renameat, 0, 1, -1},
    {SYS_renameat2, 0, 1, -1},
    {SYS_link, 0, 0, -1},
    {SYS_linkat, 0, 1, -1},
    {SYS_symlink, 0, 0, -1},
    {SYS_symlinkat, 0, 0, -1},
    {SYS_chmod, 0b10, 0, -1},
    {SYS_fchmodat, 0b100, 1, -1},
    {SYS_fchmod, 0b10, -1, -1},
    {SYS_chown, 0, 0, -1},
    {SYS_lchown, 0, 0, -1},
    {SYS_fchownat, 0, 1, -1},
    {SYS_truncate, 0, 0, -1},
    {SYS_mount, 0, 1, -1},
    {SYS_umount2, 0, 0, -1},
    {SYS_chroot, 0, 0, -1},
    {SYS_mknod, 0, 0, -1},
    {SYS_mknodat, 0, 1, -1},
    {SYS_mq_open, 0, 0, -1},
    {SYS_memfd_create, 0b10, 0, -1},
    {SYS_statfs, 0, 0, -1},
    {SYS_setxattr, 0, 0, -1},
    {SYS_swapon, 0, 0, -1},
    {SYS_setpriority, 0b100, -1, -1},
    {SYS_sched_setscheduler, 0b10, -1, -1},
};

const Shape& shape_of(int number) {
  static constexpr Shape kPlain{-1, 0, -1, -1};
  for (const Shape& s : kShapes)
    if (s.number == number) return s;
  return kPlain;
}

// For the report only; the caller may change it while we read, and that harms nobody.
std::size_t read_text(const seccomp_notif& call, const Shape& shape,
                      std::array<char, kDeniedText>& out) {
  if (shape.text_arg < 0) return 0;
  std::size_t want = out.size();
  if (shape.length_arg >= 0)
    want = std::min<std::size_t>(want, call.data.args[static_cast<std::size_t>(shape.length_arg)]);
  const std::uint64_t address = call.data.args[static_cast<std::size_t>(shape.text_arg)];
  // Not across a page end that may not be mapped: first what is left of this page.
  std::size_t got = 0;
  while (got < want) {
    const std::uint64_t at = address + got;
    const std::size_t part = std::min<std::size_t>(want - got, 4096 - at % 4096);
    const iovec here{out.data() + got, part};
    const iovec there{reinterpret_cast<void*>(at), part};
    const ssize_t n = ::process_vm_readv(static_cast<pid_t>(call.pid), &here, 1, &there, 1, 0);
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  return shape.length_arg >= 0 ? got : ::strnlen(out.data(), got);
}

bool same_kind(const DeniedRecord& a, const DeniedRecord& b, std::uint8_t main_args) {
  if (a.number != b.number || a.text_length != b.text_length) return false;
  for (std::size_t i = 0; i < 6; ++i)
    if ((unsigned{main_args} >> i & 1U) != 0 && a.args[i] != b.args[i]) return false;
  return std::memcmp(a.text.data(), b.text.data(), a.text_length) == 0;
}

bool is_known(int number) { return syscall_name(number).rfind("syscall ", 0) != 0; }

}  // namespace

Notify::Notify(Fd listener, FirstExec first) : listener_(std::move(listener)), first_(first) {}

void Notify::record(const seccomp_notif& call) {
  ++total_;
  const Shape& shape = shape_of(call.data.nr);
  DeniedRecord r{};
  r.number = call.data.nr;
  for (std::size_t i = 0; i < 6; ++i) r.args[i] = call.data.args[i];
  // Past the free answers only what is already known is counted: no memory of theirs is read.
  if (!throttled()) r.text_length = static_cast<std::uint32_t>(read_text(call, shape, r.text));
  for (DeniedRecord& known : records_) {
    if (!same_kind(known, r, shape.main_args)) continue;
    ++known.count;
    return;
  }
  r.count = 1;
  if (records_.size() < kMaxDenied) records_.push_back(r);
}

void Notify::serve() {
  seccomp_notif call{};
  // ENOENT: the caller died or was interrupted between poll and here.
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return;
  seccomp_notif_resp answer{};
  answer.id = call.id;
  if (first_ == FirstExec::kAllowed && call.data.nr == SYS_execve) {
    first_ = FirstExec::kDenied;
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    record(call);
    // An unknown number is a call newer than our table: ENOSYS lets a libc fall back.
    answer.error = is_known(call.data.nr) ? -EPERM : -ENOSYS;
    if (throttled()) resume_at_ = std::chrono::steady_clock::now() + kPause;
  }
  ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

}  // namespace jail
