// System calls that reach past a jail, or open more of the kernel than code needs.
#include <catch2/catch.hpp>

#include "tests/e2e/e2e.h"
#include "tests/escape/attack.h"

using escape::Attack;
using escape::Control;

namespace {

constexpr const char* kProgram = "attacks_by_call";

struct Never {
  const char* name;
  Control control;
  const char* call = nullptr;  // its own name, if not another
};

// Denied under every policy, and reported.
void check_never(std::initializer_list<Never> calls) {
  std::vector<Attack> attacks;
  for (const Never& never : calls) {
    attacks.push_back({{never.name},
                       never.call == nullptr ? never.name : never.call,
                       "denied",
                       "denied",
                       "denied",
                       never.control});
  }
  escape::check(kProgram, attacks);
}

}  // namespace

TEST_CASE("mounts and roots") {
  check_never({{"mount", Control::kInside},
               {"bind", Control::kInside, "mount"},
               {"umount2", Control::kListed},
               {"pivot_root", Control::kListed},
               {"chroot", Control::kInside},
               {"open_tree", Control::kBare},
               {"move_mount", Control::kListed},
               {"fsopen", Control::kInside},
               {"fsconfig", Control::kKernel},
               {"fsmount", Control::kListed},
               {"fspick", Control::kListed},
               {"mount_setattr", Control::kListed}});
}

TEST_CASE("new namespaces, and those of others") {
  check_never({{"unshare_user", Control::kBare, "unshare"},
               {"unshare_mount", Control::kInside, "unshare"},
               {"clone_user", Control::kBare, "clone"},
               {"clone_net", Control::kInside, "clone"},
               {"setns", Control::kKernel}});
  // clone3's flags lie in memory, where no filter sees them: it does not exist.
  const Attack clone3[] = {
      {{"clone3_user"}, "clone3", "ENOSYS", "ENOSYS", "ENOSYS", Control::kBare}};
  escape::check(kProgram, clone3);
}

TEST_CASE("keyrings") {
  check_never(
      {{"add_key", Control::kBare}, {"request_key", Control::kKernel}, {"keyctl", Control::kBare}});
}

TEST_CASE("calls with a record: bpf, perf, io_uring, userfaultfd") {
  check_never({{"bpf", Control::kRoot},
               {"perf_event_open", Control::kRoot},
               {"io_uring_setup", Control::kBare},
               {"io_uring_enter", Control::kKernel},
               {"userfaultfd", Control::kBare},
               {"vmsplice", Control::kKernel},
               {"memfd_secret", Control::kListed},
               {"remap_file_pages", Control::kKernel},
               {"mbind", Control::kListed},
               {"move_pages", Control::kBare},
               {"migrate_pages", Control::kListed},
               {"modify_ldt", Control::kBare},
               {"iopl", Control::kBare},
               {"ioperm", Control::kBare},
               {"sysfs", Control::kBare},
               {"lookup_dcookie", Control::kListed},
               {"io_setup", Control::kBare},
               {"futex_waitv", Control::kKernel}});
}

TEST_CASE("other processes and their memory") {
  check_never({{"ptrace", Control::kBare},
               {"process_vm_readv", Control::kBare},
               {"process_vm_writev", Control::kBare},
               {"process_madvise", Control::kKernel},
               {"process_mrelease", Control::kKernel},
               {"pidfd_getfd", Control::kKernel},
               {"kcmp", Control::kBare}});
}

TEST_CASE("files by number, and watching whole file systems") {
  check_never({{"name_to_handle_at", Control::kKernel},
               {"open_by_handle_at", Control::kListed},
               {"fanotify_init", Control::kBare},
               {"quotactl", Control::kListed}});
}

TEST_CASE("the host's own affairs") {
  check_never({{"swapon", Control::kListed},
               {"swapoff", Control::kListed},
               {"acct", Control::kListed},
               {"reboot", Control::kListed},
               {"kexec_load", Control::kListed},
               {"kexec_file_load", Control::kListed},
               {"init_module", Control::kListed},
               {"finit_module", Control::kListed},
               {"delete_module", Control::kListed},
               {"syslog", Control::kRoot},
               {"settimeofday", Control::kRoot},
               {"clock_settime", Control::kListed},
               {"adjtimex", Control::kBare},
               {"sethostname", Control::kInside},
               {"setdomainname", Control::kInside},
               {"vhangup", Control::kListed}});
}

TEST_CASE("typing into a terminal, and the upper half of an argument that the kernel ignores") {
  check_never({{"tiocsti", Control::kKernel, "ioctl"},
               {"tiocsti_high", Control::kKernel, "ioctl"},
               {"tioclinux", Control::kKernel, "ioctl"},
               {"tiocsetd", Control::kKernel, "ioctl"},
               {"tioccons", Control::kKernel, "ioctl"},
               {"personality", Control::kBare},
               {"personality_high", Control::kBare, "personality"}});
}

TEST_CASE("what a policy may give: by policy") {
  const Attack attacks[] = {
      {{"fork"}, "clone", "denied", "REACHED", "REACHED", Control::kBare},
      {{"map_code"}, "mmap", "denied", "REACHED", "REACHED", Control::kBare},
      {{"memfd"}, "memfd_create", "denied", "denied", "REACHED", Control::kBare},
      {{"shmget"}, "shmget", "denied", "denied", "REACHED", Control::kInside},
      {{"mq_open"}, "mq_open", "denied", "denied", "ENOENT", Control::kKernel},
      {{"watch_usr_bin"}, "inotify_init1", "denied", "denied", "REACHED", Control::kBare},
      {{"arch_set_gs"}, "arch_prctl", "denied", "denied", "REACHED", Control::kBare},
      {{"prctl_dumpable"}, "prctl", "denied", "denied", "REACHED", Control::kBare},
      {{"prctl_mm"}, "prctl", "denied", "denied", "denied", Control::kListed},
      {{"seccomp_ask"}, "seccomp", "denied", "denied", "REACHED", Control::kBare},
      {{"seccomp_listener"}, "seccomp", "denied", "denied", "denied", Control::kInside},
      {{"landlock"}, "landlock_create_ruleset", "denied", "denied", "denied", Control::kKernel},
      {{"set_mempolicy"}, "set_mempolicy", "ENOSYS", "ENOSYS", "ENOSYS", Control::kBare}};
  escape::check(kProgram, attacks);
}

TEST_CASE("calls without a name do not exist") {
  // fchmodat2 is newer than most lists: it would set the bits that chmod may not.
  check_never({{"fchmodat2", Control::kKernel}});
  const Attack attacks[] = {
      {{"no_such_call"}, nullptr, "ENOSYS", "ENOSYS", "ENOSYS", Control::kListed}};
  escape::check(kProgram, attacks);
}

TEST_CASE("calls by the numbers of another architecture end the process") {
  e2e::require_jails();
  for (const char* policy : {"tight", "standard", "loose"}) {
    for (const char* program : {"calls_as_i386", "calls_as_x32"}) {
      INFO(program << " under " << policy);
      const auto report = e2e::report(e2e::payload({"--json", "--policy", policy}, {program}));
      CHECK(e2e::text(report, "outcome") == "signalled");
      CHECK(e2e::text(report, "signal") == "SIGSYS");
      CHECK(report.at("exit_code") == 159);
    }
  }
  e2e::Call bare;  // the control: a 32-bit call works where the kernel has them
  bare.program = support::payloads_path() + "/calls_as_x32";
  CHECK(support::run_binary(bare).code != -31);
}
