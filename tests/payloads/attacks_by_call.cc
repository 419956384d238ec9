// attacks_by_call NAME: one system call that no jail may give, or only a loose one. Arguments are
// such that nothing happens where it is let through.
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/kcmp.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <cerrno>
#include <csignal>

#include "attack.h"

namespace {

using payload::Attack;
using payload::call;

constexpr unsigned long kHigh = 1UL << 32U;  // what the kernel ignores and a filter might not

int forked(long result) {
  if (result == 0) ::_exit(0);
  return payload::error_of(result);
}

int perf() {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof attr;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.exclude_kernel = 1;
  return call(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

int bpf_map() {
  bpf_attr attr{};
  attr.map_type = BPF_MAP_TYPE_ARRAY;
  attr.key_size = attr.value_size = 4;
  attr.max_entries = 1;
  return call(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr);
}

int own_memory(long number) {
  char from[4] = "abc";
  char to[4] = "";
  iovec local{to, 4};
  iovec remote{from, 4};
  return call(number, ::getpid(), &local, 1, &remote, 1, 0);
}

int handle_of_root() {
  struct {
    unsigned bytes = 128;
    int type = 0;
    char data[128];
  } handle;
  int mount = 0;
  return call(SYS_name_to_handle_at, AT_FDCWD, "/", &handle, &mount, 0);
}

int clone3_user() {
  unsigned long args[8] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
  return forked(::syscall(SYS_clone3, args, sizeof args));
}

int user_ring() {
  io_uring_params params{};
  return call(SYS_io_uring_setup, 1, &params);
}

int typed_char(unsigned long request) {
  char c = '\n';
  return call(SYS_ioctl, 0, request, &c);
}

int timex() {
  char zero[256] = {};  // modes 0: reads only
  const int error = call(SYS_adjtimex, zero);
  return error;
}

int read_ldt() {
  char table[64];
  return call(SYS_modify_ldt, 0, table, sizeof table);
}

int full_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {{~0U, ~0U, 0}, {0x1ffU, 0x1ffU, 0}};
  return call(SYS_capset, &header, data);
}

// Whoever opens a file there is seen: the folder is the host's own, and every jail's.
int watch_usr_bin() {
  const int watcher = ::inotify_init1(IN_CLOEXEC);
  return watcher < 0 ? errno : payload::error_of(::inotify_add_watch(watcher, "/usr/bin", IN_OPEN));
}

int listener() {
  sock_filter allow[] = {{0x06, 0, 0, SECCOMP_RET_ALLOW}};
  sock_fprog program{1, allow};
  return call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

constexpr Attack kAttacks[] = {
    {"mount", [](char**) { return call(SYS_mount, "none", "/tmp", "tmpfs", 0, nullptr); }},
    {"bind", [](char**) { return call(SYS_mount, "/", "/tmp", "", MS_BIND | MS_REC, nullptr); }},
    {"umount2", [](char**) { return call(SYS_umount2, "/tmp", MNT_DETACH); }},
    {"pivot_root", [](char**) { return call(SYS_pivot_root, "/tmp", "/tmp"); }},
    {"chroot", [](char**) { return call(SYS_chroot, "/tmp"); }},
    {"open_tree", [](char**) { return call(SYS_open_tree, AT_FDCWD, "/", 0); }},
    {"move_mount", [](char**) { return call(SYS_move_mount, -1, "", -1, "", 0); }},
    {"fsopen", [](char**) { return call(SYS_fsopen, "tmpfs", 0); }},
    {"fsconfig", [](char**) { return call(SYS_fsconfig, -1, 0, "x", nullptr, 0); }},
    {"fsmount", [](char**) { return call(SYS_fsmount, -1, 0, 0); }},
    {"fspick", [](char**) { return call(SYS_fspick, AT_FDCWD, "/tmp", 0); }},
    {"mount_setattr", [](char**) { return call(SYS_mount_setattr, -1, "", 0, nullptr, 0); }},
    {"unshare_user", [](char**) { return call(SYS_unshare, CLONE_NEWUSER); }},
    {"unshare_mount", [](char**) { return call(SYS_unshare, CLONE_NEWNS); }},
    {"clone_user",
     [](char**) { return forked(::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)); }},
    {"clone_net", [](char**) { return forked(::syscall(SYS_clone, CLONE_NEWNET | SIGCHLD, 0)); }},
    {"clone3_user", [](char**) { return clone3_user(); }},
    {"fork", [](char**) { return forked(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }},
    {"setns", [](char**) { return call(SYS_setns, -1, 0); }},
    {"add_key", [](char**) { return call(SYS_add_key, "user", "k", "v", 1, -1); }},
    {"request_key", [](char**) { return call(SYS_request_key, "user", "k", nullptr, 0); }},
    {"keyctl", [](char**) { return call(SYS_keyctl, KEYCTL_GET_KEYRING_ID, -1, 1); }},
    {"bpf", [](char**) { return bpf_map(); }},
    {"perf_event_open", [](char**) { return perf(); }},
    {"io_uring_setup", [](char**) { return user_ring(); }},
    {"io_uring_enter", [](char**) { return call(SYS_io_uring_enter, -1, 0, 0, 0, nullptr, 0); }},
    {"userfaultfd", [](char**) { return call(SYS_userfaultfd, 1 | O_CLOEXEC); }},
    {"ptrace", [](char**) { return call(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0); }},
    {"process_vm_readv", [](char**) { return own_memory(SYS_process_vm_readv); }},
    {"process_vm_writev", [](char**) { return own_memory(SYS_process_vm_writev); }},
    {"process_madvise", [](char**) { return call(SYS_process_madvise, -1, nullptr, 0, 0, 0); }},
    {"process_mrelease", [](char**) { return call(SYS_process_mrelease, -1, 0); }},
    {"pidfd_getfd", [](char**) { return call(SYS_pidfd_getfd, -1, 0, 0); }},
    {"kcmp", [](char**) { return call(SYS_kcmp, ::getpid(), ::getpid(), KCMP_FILE, 0UL, 0UL); }},
    {"name_to_handle_at", [](char**) { return handle_of_root(); }},
    {"open_by_handle_at", [](char**) { return call(SYS_open_by_handle_at, -1, nullptr, 0); }},
    {"fanotify_init", [](char**) { return call(SYS_fanotify_init, 0x200, 0); }},
    {"quotactl", [](char**) { return call(SYS_quotactl, 0x800001 << 8, nullptr, 0, nullptr); }},
    {"swapon", [](char**) { return call(SYS_swapon, "/no/such/file", 0); }},
    {"swapoff", [](char**) { return call(SYS_swapoff, "/no/such/file"); }},
    {"acct", [](char**) { return call(SYS_acct, "/no/such/file"); }},
    {"reboot", [](char**) { return call(SYS_reboot, 0, 0, 0, nullptr); }},
    {"kexec_load", [](char**) { return call(SYS_kexec_load, 0, 0, nullptr, ~0UL); }},
    {"kexec_file_load", [](char**) { return call(SYS_kexec_file_load, -1, -1, 0, "", ~0UL); }},
    {"init_module", [](char**) { return call(SYS_init_module, nullptr, 0, ""); }},
    {"finit_module", [](char**) { return call(SYS_finit_module, -1, "", ~0); }},
    {"delete_module", [](char**) { return call(SYS_delete_module, "no such module", O_NONBLOCK); }},
    {"syslog", [](char**) { return call(SYS_syslog, 10, nullptr, 0); }},
    {"settimeofday", [](char**) { return call(SYS_settimeofday, nullptr, nullptr); }},
    {"clock_settime", [](char**) { return call(SYS_clock_settime, 9999, nullptr); }},
    {"adjtimex", [](char**) { return timex(); }},
    {"sethostname", [](char**) { return call(SYS_sethostname, "x", 1); }},
    {"setdomainname", [](char**) { return call(SYS_setdomainname, "x", 1); }},
    {"modify_ldt", [](char**) { return read_ldt(); }},
    {"iopl", [](char**) { return call(SYS_iopl, 0); }},
    {"ioperm", [](char**) { return call(SYS_ioperm, 0x80, 1, 0); }},
    {"vmsplice", [](char**) { return call(SYS_vmsplice, -1, nullptr, 0, 0); }},
    {"memfd_secret", [](char**) { return call(SYS_memfd_secret, 0); }},
    {"remap_file_pages", [](char**) { return call(SYS_remap_file_pages, 0, 0, 0, 0, 0); }},
    {"mbind", [](char**) { return call(SYS_mbind, 0, 0, 0, nullptr, 0, 0); }},
    {"set_mempolicy", [](char**) { return call(SYS_set_mempolicy, 0, nullptr, 0); }},
    {"move_pages", [](char**) { return call(SYS_move_pages, 0, 0, nullptr, nullptr, nullptr, 0); }},
    {"migrate_pages", [](char**) { return call(SYS_migrate_pages, 0, 0, nullptr, nullptr); }},
    {"lookup_dcookie", [](char**) { return call(SYS_lookup_dcookie, 0, nullptr, 0); }},
    {"sysfs", [](char**) { return call(SYS_sysfs, 3); }},
    {"vhangup", [](char**) { return call(SYS_vhangup); }},
    {"io_setup",
     [](char**) {
       unsigned long context = 0;
       return call(SYS_io_setup, 1, &context);
     }},
    {"landlock", [](char**) { return call(SYS_landlock_create_ruleset, nullptr, 0, 1); }},
    {"futex_waitv", [](char**) { return call(SYS_futex_waitv, nullptr, 0, 0, nullptr, 0); }},
    {"fchmodat2", [](char**) { return call(452, AT_FDCWD, "/no/such", 04755, 0); }},
    {"no_such_call", [](char**) { return call(900); }},
    {"personality", [](char**) { return call(SYS_personality, ADDR_NO_RANDOMIZE); }},
    {"personality_high", [](char**) { return call(SYS_personality, kHigh | ADDR_NO_RANDOMIZE); }},
    {"tiocsti", [](char**) { return typed_char(TIOCSTI); }},
    {"tiocsti_high", [](char**) { return typed_char(kHigh | TIOCSTI); }},
    {"tioclinux", [](char**) { return typed_char(TIOCLINUX); }},
    {"tiocsetd", [](char**) { return typed_char(TIOCSETD); }},
    {"tioccons", [](char**) { return typed_char(TIOCCONS); }},
    {"prctl_mm", [](char**) { return call(SYS_prctl, PR_SET_MM, 1, 0, 0, 0); }},
    {"prctl_dumpable", [](char**) { return call(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0); }},
    {"prctl_ambient",
     [](char**) { return call(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0); }},
    {"watch_usr_bin", [](char**) { return watch_usr_bin(); }},
    {"arch_set_gs", [](char**) { return call(SYS_arch_prctl, 0x1001, 0); }},
    {"seccomp_ask", [](char**) { return call(SYS_seccomp, 2, 0, "\0\0\xff\x7f"); }},
    {"seccomp_listener", [](char**) { return listener(); }},
    {"memfd", [](char**) { return call(SYS_memfd_create, "m", MFD_CLOEXEC); }},
    {"shmget", [](char**) { return call(SYS_shmget, 0, 4096, 01600); }},
    {"mq_open", [](char**) { return call(SYS_mq_open, "no-such", O_RDONLY, 0, nullptr); }},
    {"setuid", [](char**) { return call(SYS_setuid, 0); }},
    {"setgid", [](char**) { return call(SYS_setgid, 0); }},
    {"setresuid", [](char**) { return call(SYS_setresuid, 0, 0, 0); }},
    {"setgroups", [](char**) { return call(SYS_setgroups, 0, nullptr); }},
    {"capset", [](char**) { return full_capabilities(); }},
    {"map_code",
     [](char**) {
       return payload::error_of(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                       MAP_PRIVATE | MAP_ANON, -1, 0));
     }},
};

}  // namespace

int main(int argc, char** argv) { return payload::run_attack(kAttacks, argc, argv); }
