// The host's own affairs, capabilities and ids, and calls that change how a process is confined.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "runner/reach/helper/say.h"

namespace reach {
namespace {

Said capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (call(SYS_capget, &header, data) != 0) {
    const int error = errno;
    if (::prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 1)
      return reached("the bounding set has CAP_SYS_ADMIN");
    return blocked(error, "capget");
  }
  if ((data[0].effective | data[0].permitted | data[1].effective | data[1].permitted) != 0)
    return reached("capabilities 0x%x%08x", data[1].permitted, data[0].permitted);
  if (::prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 1)
    return reached("none now, but the bounding set has CAP_SYS_ADMIN");
  return blocked(0, "no capability, and none to come");
}

// Without the flag a set-user-id program would raise us.
Said privileges_to_come() {
  const int flag = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  if (flag == 0) return reached("no_new_privs is not set");
  return flag == 1 ? blocked(0, "no_new_privs is set") : blocked(errno, "prctl");
}

Said full_capabilities() {
  return with_borrowed_root(0, [] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {{~0U, ~0U, 0}, {0x1ffU, 0x1ffU, 0}};
    return must_work(call(SYS_capset, &header, data), "capset to all");
  });
}

Said become_root() { return must_work(call(SYS_setresuid, 0, 0, 0), "setresuid(0)"); }

Said groups() { return must_work(call(SYS_setgroups, 0, nullptr), "setgroups"); }

Said host_name() {
  return with_borrowed_root(CLONE_NEWUTS,
                            [] { return must_work(::sethostname("reach", 5), "sethostname"); });
}

Said domain_name() {
  return with_borrowed_root(CLONE_NEWUTS,
                            [] { return must_work(::setdomainname("reach", 5), "setdomainname"); });
}

Said ambient() {
  return must_work(call(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0),
                   "prctl(PR_CAP_AMBIENT)");
}

Said option(int number, unsigned long value, const char* name) {
  return looked_at(call(SYS_prctl, number, value, 0, 0, 0), name);
}

Said new_filter() {
  return in_child([] {
    sock_filter allow[] = {{0x06, 0, 0, SECCOMP_RET_ALLOW}};
    sock_fprog program{1, allow};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return must_work(
        call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program),
        "a seccomp filter with a listener");
  });
}

// On stdin, whatever that is: a call that is let through fails with ENOTTY or EINVAL.
Said terminal(unsigned long request, const char* name) {
  char byte = '\n';
  return looked_at(call(SYS_ioctl, 0, request, &byte), name);
}

Said clock() { return looked_at(call(SYS_clock_settime, 9999, nullptr), "clock_settime"); }

Said adjust() {
  char none[256] = {};  // no modes: it only reads
  return looked_at(call(SYS_adjtimex, none), "adjtimex");
}

Said kernel_log() { return looked_at(call(SYS_syslog, 3, nullptr, 0), "syslog"); }

constexpr Entry kEntries[] = {
    {"k31", capabilities},
    {"k32", privileges_to_come},
    {"k33", full_capabilities},
    {"k34", become_root},
    {"k35", groups},
    {"k36", host_name},
    {"k37", domain_name},
    {"k38", ambient},
    {"k39", [] { return option(PR_SET_MM, 0, "prctl(PR_SET_MM)"); }},
    {"k40", [] { return option(PR_SET_DUMPABLE, 1, "prctl(PR_SET_DUMPABLE)"); }},
    {"k41", [] { return option(PR_SET_CHILD_SUBREAPER, 0, "prctl(PR_SET_CHILD_SUBREAPER)"); }},
    {"k42", [] { return option(PR_SET_PDEATHSIG, 0, "prctl(PR_SET_PDEATHSIG)"); }},
    {"k43", [] { return option(PR_SET_TSC, PR_TSC_ENABLE, "prctl(PR_SET_TSC)"); }},
    {"k44", new_filter},
    {"k45",
     [] {
       return looked_at(call(SYS_landlock_create_ruleset, nullptr, 0, 1),
                        "landlock_create_ruleset");
     }},
    {"k46", [] { return looked_at(call(SYS_arch_prctl, 0x1001, 0), "arch_prctl(ARCH_SET_GS)"); }},
    {"k47", [] { return terminal(TIOCSTI, "ioctl(TIOCSTI)"); }},
    {"k48",
     [] { return terminal(TIOCSTI | (1UL << 32U), "ioctl(TIOCSTI) with bits above its 32"); }},
    {"k49", [] { return terminal(TIOCLINUX, "ioctl(TIOCLINUX)"); }},
    {"k50", [] { return terminal(TIOCSETD, "ioctl(TIOCSETD)"); }},
    {"k51", clock},
    {"k52", adjust},
    {"k53", kernel_log},
    {"k54", [] { return looked_at(call(SYS_reboot, 0, 0, 0, nullptr), "reboot"); }},
    {"k55", [] { return looked_at(call(SYS_kexec_load, 0, 0, nullptr, ~0UL), "kexec_load"); }},
    {"k56", [] { return looked_at(call(SYS_init_module, nullptr, 0, ""), "init_module"); }},
    {"k57", [] { return looked_at(call(SYS_finit_module, -1, "", ~0), "finit_module"); }},
    {"k58",
     [] {
       return looked_at(call(SYS_delete_module, "no such module", O_NONBLOCK), "delete_module");
     }},
    {"k59", [] { return looked_at(call(SYS_swapon, "/no/such/file", 0), "swapon"); }},
    {"k60", [] { return looked_at(call(SYS_acct, "/no/such/file"), "acct"); }},
    {"k61",
     [] {
       return looked_at(call(SYS_quotactl, 0x800001 << 8, "/no/such", 0, nullptr), "quotactl");
     }},
    {"k62", [] { return looked_at(call(SYS_iopl, 0), "iopl"); }},
    {"k63", [] { return looked_at(call(SYS_ioperm, 0x80, 1, 0), "ioperm"); }},
    {"k64",
     [] {
       char table[64];
       return looked_at(call(SYS_modify_ldt, 0, table, sizeof table), "modify_ldt");
     }},
    {"k65",
     [] { return looked_at(call(SYS_futex_waitv, nullptr, 0, 0, nullptr, 0), "futex_waitv"); }},
    {"k66", [] { return looked_at(call(451, -1, nullptr, nullptr, 0), "cachestat"); }},
    {"k67", [] { return looked_at(call(460, nullptr, nullptr, 0), "lsm_set_self_attr"); }},
    {"k68", [] { return looked_at(call(SYS_lookup_dcookie, 0, nullptr, 0), "lookup_dcookie"); }},
};

}  // namespace

Table kernel_more_probes() { return {kEntries, sizeof kEntries / sizeof kEntries[0]}; }

}  // namespace reach
