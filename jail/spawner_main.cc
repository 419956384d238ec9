// sandglass-spawner: the keeper and, below it, the worker.
//
// The exec'ed process is the keeper. It still has its caller's credentials, makes the cgroup
// folders, forks the worker, writes the worker's id maps, and from then on only waits: when the
// worker ends, however it ends, the keeper removes the folders. The worker enters a user namespace
// of its own and never gets out of it. When the keeper dies, the worker sees the end of a pipe;
// when the caller dies, it sees the end of its socket; in both cases it ends, and every jail with
// it. Started by jail/client.h's caller with a SOCK_SEQPACKET socket as fd 3 and nothing else.
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <tuple>
#include <utility>

#include "jail/cgroup.h"
#include "jail/identity.h"
#include "jail/landlock.h"
#include "jail/pipe.h"
#include "jail/spawner.h"
#include "jail/wire.h"

namespace {

using jail::Fd;
using jail::Pipe;
using jail::SetupError;
using jail::Step;

// The caller reads the reason as a launch that failed before any was asked for: id 0.
int refuse(const Fd& caller, const SetupError& error) {
  const jail::LaunchedPacket packet{{jail::kWireMagic, jail::ReplyType::kLaunched, 0}, error};
  (void)jail::send_struct(caller.get(), packet);
  return 1;
}

// user_namespaces(7), pid_namespaces(7): unshare and clone mean "this thread"; a second one would
// keep the old credentials.
bool is_single_threaded(int proc) {
  struct stat st {};
  return ::fstatat(proc, "self/task", &st, 0) == 0 && st.st_nlink == 3;
}

void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Fd open_proc() {
  Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs st {};
  if (proc.valid() && ::fstatfs(proc.get(), &st) == 0 && st.f_type == PROC_SUPER_MAGIC) return proc;
  return Fd();
}

jail::Enforcer or_rlimit(jail::Enforcer e) {
  return e == jail::Enforcer::kNone ? jail::Enforcer::kRlimit : e;
}

jail::Hello make_hello(const jail::Cgroups& cgroups, const jail::IdBlock& block, int landlock) {
  jail::Hello hello;
  hello.version = jail::kWireVersion;
  hello.keeper_pid = ::getppid();
  hello.worker_pid = ::getpid();
  hello.memory = or_rlimit(cgroups.enforcer(jail::Controller::kMemory));
  hello.processes = or_rlimit(cgroups.enforcer(jail::Controller::kPids));
  hello.cpu_time = or_rlimit(cgroups.enforcer(jail::Controller::kCpu));
  hello.own_uid_per_jail = block.count > 1;
  hello.drops_groups = block.count > 1;
  hello.landlock_abi = static_cast<std::uint32_t>(landlock);
  hello.slots = jail::kBlockSize - 1;
  return hello;
}

bool write_byte(const Fd& fd) {
  const char byte = 1;
  return ::write(fd.get(), &byte, 1) == 1;
}

bool read_byte(const Fd& fd) {
  char byte = 0;
  return ::read(fd.get(), &byte, 1) == 1;
}

// The worker's life. `unshared` tells the keeper to write the maps, `mapped` that it has.
int worker(Fd caller, Fd lifeline, const Fd& unshared, const Fd& mapped, Fd proc,
           const jail::Cgroups& cgroups, const jail::IdBlock& block) {
  if (::unshare(CLONE_NEWUSER) != 0)
    return refuse(caller, SetupError{Step::kOuterUserNs, 0, errno});
  if (!write_byte(unshared) || !read_byte(mapped)) return 1;
  if (const auto r = jail::become(jail::Id{0}, jail::Id{0}); !r) return refuse(caller, r.error());
  // After setresuid a process is not dumpable, and its children's id maps could not be written.
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  // keyrings(7): the caller's session keyring would come along; take an empty one. A kernel without
  // keyrings has none to inherit.
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
  ::prctl(PR_SET_NAME, "sandglass-worker", 0, 0, 0);
  jail::WorkerFacts facts;
  facts.proc = proc.get();
  facts.block = block;
  facts.jail.landlock_abi = jail::landlock_abi();
  const jail::Hello hello = make_hello(cgroups, block, facts.jail.landlock_abi);
  return jail::run_worker(std::move(caller), std::move(lifeline), hello, cgroups, facts);
}

// Waits for the worker, then removes what only the keeper may remove.
int keep(pid_t pid, jail::Cgroups cgroups) {
  ::prctl(PR_SET_NAME, "sandglass-keeper", 0, 0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  // A worker killed in mid-life leaves jails that are dying: their folders free up within
  // milliseconds, since each init sees the end of its lifeline. pid_namespaces(7): an init that has
  // a payload which joined can't end before somebody has reaped that one, whose parent was the
  // worker and now is the keeper.
  for (int tries = 0; tries < 500; ++tries) {
    pid_t gone = 0;
    while ((gone = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (cgroups.remove() && gone < 0) break;
    ::usleep(10000);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int start(Fd caller, Fd proc) {
  Pipe unshared;
  Pipe mapped;
  Pipe lifeline;
  if (!make_pipe(unshared) || !make_pipe(mapped) || !make_pipe(lifeline))
    return refuse(caller, SetupError{Step::kSpawnerStart, 1, errno});
  const jail::IdBlock block = jail::choose_block(::getpid());
  jail::Cgroups cgroups = jail::Cgroups::make(::getpid());
  const pid_t pid = ::fork();
  if (pid < 0) return refuse(caller, SetupError{Step::kSpawnerStart, 2, errno});
  if (pid == 0) {
    lifeline.write.reset();
    unshared.read.reset();
    mapped.write.reset();
    ::_exit(worker(std::move(caller), std::move(lifeline.read), unshared.write, mapped.read,
                   std::move(proc), cgroups, block));
  }
  unshared.write.reset();
  mapped.read.reset();
  lifeline.read.reset();
  if (read_byte(unshared.read)) {
    const auto r = jail::map_outer(proc.get(), pid, block);
    if (!r) (void)refuse(caller, r.error());
    if (r) cgroups.hand_to(pid, block.first_uid, block.first_gid);
    if (r) (void)write_byte(mapped.write);
  }
  mapped.write.reset();
  caller.reset();
  proc.reset();
  return keep(pid, std::move(cgroups));
}

// A caller that ignores SIGCHLD would have us wait for children that leave no status; one that
// blocks signals or has a strange umask is no better. Start from what everything below expects.
void start_clean() {
  for (int s = 1; s < NSIG; ++s) std::ignore = ::signal(s, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::umask(022);
  std::ignore = ::signal(SIGPIPE, SIG_IGN);
  // A terminal's ^C is for the caller, who decides what it means for the jails.
  std::ignore = ::signal(SIGINT, SIG_IGN);
}

}  // namespace

int main() {
  start_clean();
  Fd caller(jail::kSpawnerSocket);
  struct stat st {};
  if (::fstat(caller.get(), &st) != 0 || !S_ISSOCK(st.st_mode)) {
    std::fputs("sandglass-spawner: started by sandglass, not by hand\n", stderr);
    return 2;
  }
  ::fcntl(caller.get(), F_SETFD, FD_CLOEXEC);
  ::syscall(SYS_close_range, 4U, ~0U, 0);
  raise_open_files();
  Fd proc = open_proc();
  if (!proc.valid()) return refuse(caller, SetupError{Step::kProc, 9, ENODEV});
  if (!is_single_threaded(proc.get()))
    return refuse(caller, SetupError{Step::kSingleThread, 0, EBUSY});
  return start(std::move(caller), std::move(proc));
}
