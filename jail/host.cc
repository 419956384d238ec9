#include "jail/host.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "jail/cgroup.h"
#include "jail/error.h"
#include "jail/identity.h"
#include "jail/landlock.h"

namespace jail {
namespace {

constexpr const char* kUsernsMend =
    "sysctl kernel.unprivileged_userns_clone=1 and user.max_user_namespaces > 0; under AppArmor "
    "kernel.apparmor_restrict_unprivileged_userns=0; in a container seccomp=unconfined or a "
    "profile that allows unshare and clone";

// Runs `attempt` in a child and returns what it returned: 0 or an errno. EINTR: the child died.
template <class Attempt>
int in_child(Attempt attempt) {
  const pid_t pid = ::fork();
  if (pid < 0) return errno;
  if (pid == 0) ::_exit(attempt() & 0xff);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

int try_unshare(int flags) {
  return in_child([flags] { return ::unshare(flags) == 0 ? 0 : errno; });
}

int mount_own_proc() {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0) return errno;
  // The mount is of the pid namespace of the one who mounts: of a child.
  return in_child([] {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
    const char* options = "hidepid=invisible,subset=pid";
    return ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0 ? 0
                                                                                            : errno;
  });
}

std::string found(int error, const char* call) {
  return error == 0 ? "works" : errno_name(error) + " from " + call;
}

Verdict verdict(int error) { return error == 0 ? Verdict::kPresent : Verdict::kAbsent; }

Feature user_namespaces() {
  const int e = try_unshare(CLONE_NEWUSER);
  return {"user namespaces",
          verdict(e),
          Need::kRequired,
          found(e, "unshare(2)"),
          "every layer: all other namespaces are owned by one",
          "nothing can be run; only the restricted evaluator works",
          e == 0 ? "" : kUsernsMend};
}

Feature other_namespaces() {
  constexpr int kAll = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                       CLONE_NEWUTS | CLONE_NEWCGROUP;
  const int e = try_unshare(kAll);
  return {"mount, pid, net, ipc, uts and cgroup namespaces",
          verdict(e),
          Need::kRequired,
          found(e, "unshare(2)"),
          "files, processes, network, System V objects and host name are the jail's own",
          "nothing can be run",
          e == 0 ? "" : "raise user.max_{mnt,pid,net,ipc,uts,cgroup}_namespaces"};
}

Feature own_uids() {
  const IdBlock block = choose_block(::getpid());
  const bool own = block.count > 1;
  return {
      "a host uid for each jail",
      own ? Verdict::kPresent : Verdict::kAbsent,
      Need::kOptional,
      own ? "ids from " + std::to_string(block.first_uid) : "not root, or no range of ids mapped",
      "two jails never share a uid, nor share one with the operator",
      "all jails run as the caller's uid, with the caller's supplementary groups",
      own ? "" : "start it as root (it keeps no privilege)"};
}

Feature mount_api() {
  const long rc = ::syscall(SYS_mount_setattr, -1, "", 0, nullptr, 0);
  const int e = rc < 0 && errno == ENOSYS ? ENOSYS : 0;
  return {"open_tree, move_mount, mount_setattr",
          verdict(e),
          Need::kRequired,
          found(e, "mount_setattr(2)"),
          "read-only trees with everything mounted below them",
          "no jail can be made",
          e == 0 ? "" : "Linux 5.12 or later (Debian 12 has 6.1)"};
}

Feature fresh_proc() {
  const int e = in_child(mount_own_proc);
  return {"a fresh /proc",
          verdict(e),
          Need::kRequired,
          found(e, "mount(2)"),
          "`standard` and `loose` show a payload its own processes only",
          "policies with files.proc other than \"none\" can't start; `tight` can",
          e == 0 ? ""
                 : "the host's /proc is covered by other mounts: in a container, "
                   "--security-opt systempaths=unconfined"};
}

Feature seccomp_listener() {
  const unsigned action = SECCOMP_RET_USER_NOTIF;
  const long rc = ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
  const int e = rc == 0 ? 0 : errno;
  return {"seccomp filters with a listener",
          verdict(e),
          Need::kRequired,
          found(e, "seccomp(2)"),
          "the allow-list of system calls, and the report of each refused one",
          "nothing can be run",
          e == 0 ? "" : "Linux 5.0 or later with CONFIG_SECCOMP_FILTER"};
}

Feature landlock() {
  const int abi = landlock_abi();
  return {"Landlock",
          abi > 0 ? Verdict::kPresent : Verdict::kAbsent,
          Need::kOptional,
          abi > 0 ? "ABI " + std::to_string(abi) : "not in this kernel, or not in lsm=",
          "a second wall behind the mounts: paths, TCP, abstract sockets, signals",
          "one layer fewer; the others hold alone",
          abi > 0 ? "" : "Linux 5.13 or later, and landlock in the kernel's lsm= list"};
}

const char* enforcer_name(Enforcer e) {
  switch (e) {
    case Enforcer::kCgroupV2:
      return "cgroup v2";
    case Enforcer::kCgroupV1:
      return "cgroup v1";
    case Enforcer::kRlimit:
    case Enforcer::kNone:
      break;
  }
  return "none";
}

Feature controller(const Cgroups& cgroups, Controller c, const char* name, const char* layer,
                   const char* lost) {
  const Enforcer e = cgroups.enforcer(c);
  const bool has = e != Enforcer::kNone;
  return {name,
          has ? Verdict::kPresent : Verdict::kAbsent,
          Need::kOptional,
          enforcer_name(e),
          layer,
          lost,
          has ? ""
              : "run as root, or in a delegated cgroup: systemd-run --user --scope "
                "-p Delegate=yes"};
}

void add_cgroups(std::vector<Feature>& features) {
  Cgroups cgroups = Cgroups::make(::getpid());
  features.push_back(
      controller(cgroups, Controller::kMemory, "cgroup memory",
                 "limits.memory over all processes and tmpfs pages together",
                 "RLIMIT_DATA for each process and a sample every 50 ms take its place; memory in "
                 "socket and pipe buffers, memfds and System V segments is not seen"));
  features.push_back(controller(cgroups, Controller::kPids, "cgroup pids",
                                "limits.processes over the whole jail",
                                "RLIMIT_NPROC takes its place, per uid and user namespace"));
  features.push_back(controller(cgroups, Controller::kCpu, "cgroup cpu accounting",
                                "limits.cpu_time over all processes together",
                                "RLIMIT_CPU for each process and samples take its place"));
  cgroups.remove();
}

Feature kernel() {
  utsname name{};
  ::uname(&name);
  return {"kernel",
          Verdict::kPresent,
          Need::kRequired,
          std::string(name.sysname) + " " + name.release,
          "all",
          "",
          ""};
}

}  // namespace

std::vector<Feature> inspect_host() {
  std::vector<Feature> features{kernel(),    user_namespaces(), other_namespaces(), own_uids(),
                                mount_api(), fresh_proc(),      seccomp_listener(), landlock()};
  add_cgroups(features);
  return features;
}

}  // namespace jail
