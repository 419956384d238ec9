// Who am I, what may I do, what did I inherit: one line each.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "report.h"

namespace {

using payload::say;

void capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  ::syscall(SYS_capget, &header, data);
  say("permitted", data[0].permitted | data[1].permitted);
  say("effective", data[0].effective | data[1].effective);
  say("inheritable", data[0].inheritable | data[1].inheritable);
  long bounding = 0;
  long ambient = 0;
  for (unsigned cap = 0; cap < 64; ++cap) {
    bounding += ::prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1 ? 1 : 0;
    ambient += ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1 ? 1 : 0;
  }
  say("bounding", bounding);
  say("ambient", ambient);
  say("no_new_privs", ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  say("seccomp", ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
  say("securebits", ::prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
  say("set_securebits", payload::word(payload::error_of(::prctl(PR_SET_SECUREBITS, 0, 0, 0, 0))));
  say("keep_caps", payload::word(payload::error_of(::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))));
}

void ids() {
  uid_t uid[3];
  gid_t gid[3];
  if (::getresuid(&uid[0], &uid[1], &uid[2]) == 0 && ::getresgid(&gid[0], &gid[1], &gid[2]) == 0)
    std::printf("uids %u %u %u\ngids %u %u %u\n", uid[0], uid[1], uid[2], gid[0], gid[1], gid[2]);
  say("groups", ::getgroups(0, nullptr));
  say("pid", ::getpid());
  say("ppid", ::getppid());
  say("session", ::getsid(0));
  say("group", ::getpgrp());
  say("become_root", payload::word(payload::error_of(::setuid(0))));
  utsname name{};
  if (::uname(&name) == 0) say("hostname", name.nodename);
}

void signals() {
  long blocked = 0;
  long changed = 0;
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int s = 1; s < NSIG; ++s) {
    blocked += ::sigismember(&mask, s) == 1 ? 1 : 0;
    // The raw call, for the two signals that glibc keeps for itself.
    unsigned long action[4]{};
    if (::syscall(SYS_rt_sigaction, s, nullptr, action, 8) == 0 && action[0] != 0) ++changed;
  }
  say("blocked_signals", blocked);
  say("changed_signals", changed);
}

void limits() {
  for (int r = 0; r < RLIM_NLIMITS; ++r) {
    rlimit l{};
    ::getrlimit(static_cast<__rlimit_resource>(r), &l);
    std::printf("rlimit%d %llu %llu\n", r, static_cast<unsigned long long>(l.rlim_cur),
                static_cast<unsigned long long>(l.rlim_max));
  }
}

}  // namespace

int main(int argc, char** argv, char** env) {
  ids();
  capabilities();
  signals();
  limits();
  std::string fds;
  for (int fd = 0; fd < 4096; ++fd)
    if (::fcntl(fd, F_GETFD) != -1) fds += std::to_string(fd) + ",";
  say("fds", fds.c_str());
  const mode_t mask = ::umask(0);
  say("umask", mask);
  char cwd[4096];
  say("cwd", ::getcwd(cwd, sizeof(cwd)) != nullptr ? cwd : "?");
  for (int i = 0; i < argc; ++i) say("arg", argv[i]);
  for (; *env != nullptr; ++env) say("env", *env);
}
