#include "jail/jail_process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "jail/init.h"
#include "jail/reserved_fds.h"
#include "jail/wire.h"

namespace jail {
namespace {

// init.cc unshares ipc and cgroup.
constexpr __u64 kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS;

struct Clone {
  pid_t pid = -1;
  int pidfd = -1;
};

enum class Files : std::uint8_t { kCopied, kShared };
enum class Network : std::uint8_t { kOurs, kNew };

// fork(2) with namespaces. The child runs on a copy of this stack and must only call what
// restrict.h lists.
Clone clone_into_namespaces(int cgroup_v2, Files files, Network network) {
  Clone made;
  clone_args args{};
  args.flags = CLONE_PIDFD | kNamespaces;
  if (files == Files::kShared) args.flags |= CLONE_FILES;
  if (network == Network::kNew) args.flags |= CLONE_NEWNET;
  args.pidfd = reinterpret_cast<std::uint64_t>(&made.pidfd);
  args.exit_signal = SIGCHLD;
  if (cgroup_v2 >= 0) {
    args.flags |= __u64{CLONE_INTO_CGROUP};
    args.cgroup = static_cast<__u64>(cgroup_v2);
  }
  made.pid = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
  return made;
}

// Returns twice. Where loopback is to be up, the jail makes a network of its own: to set it up asks
// for rights that no jail has in one of ours.
Result<Clone> clone_jail(JailProcess& jail, Loopback loopback, const Cgroup& cgroup,
                         Networks& networks) {
  if (loopback == Loopback::kDown) {
    auto network = networks.enter();
    if (!network) return tl::unexpected(network.error());
    jail.network = std::move(*network);
  }
  const Clone made =
      clone_into_namespaces(cgroup.v2_folder(), jail.shared ? Files::kShared : Files::kCopied,
                            jail.network.valid() ? Network::kOurs : Network::kNew);
  if (made.pid < 0) return fail(Step::kClone, errno);
  return made;
}

// The child's. What it closes while the table is shared, it would close for the worker.
[[noreturn]] void begin_init(const JailProcess& jail, const PlanView& plan, const JailFacts& facts,
                             const Cgroup& cgroup, Fd control) {
  const int entered = cgroup.enter_v1();
  if (jail.shared) {
    if (!ReservedFds::leave_shared_table()) ::_exit(0);
    (void)control.release();
    control = Fd(jail.shared->get());
  }
  run_init(plan, facts, entered, std::move(control));
}

}  // namespace

Result<JailProcess> make_jail(std::shared_ptr<LoadedPlan> plan, std::uint64_t serial,
                              std::uint32_t slot, const Cgroups& cgroups, const WorkerFacts& facts,
                              ReservedFds& reserved, Networks& networks) {
  const PlanHeader& h = plan->view.header();
  const Totals totals{Bytes{h.memory}, h.processes, Millis(h.cpu_time_ms)};
  auto cgroup = cgroups.create(serial, totals);
  if (!cgroup) return tl::unexpected(cgroup.error());
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    cgroup->remove();
    return fail(Step::kClone, errno, 1);
  }
  JailProcess jail;
  jail.control = Fd(pair[0]);
  // Ours only: an init that does not read must not stop the worker.
  ::fcntl(pair[0], F_SETFL, O_NONBLOCK);
  Fd theirs(pair[1]);
  JailFacts of_jail = facts.jail;
  if (cgroups.enforcer(Controller::kMemory) == Enforcer::kNone) of_jail.data_limit = h.memory;
  if (cgroups.enforcer(Controller::kPids) == Enforcer::kNone && h.processes > 0)
    of_jail.process_limit = h.processes + 1;

  jail.shared = reserved.put(theirs);
  auto made = clone_jail(jail, h.loopback, *cgroup, networks);
  if (made && made->pid == 0) begin_init(jail, plan->view, of_jail, *cgroup, std::move(theirs));
  if (!made) {
    // From where that fails, the next jail's is entered all the same.
    (void)networks.leave();
    networks.give_back(std::move(jail.network));
    cgroup->remove();
    return tl::unexpected(made.error());
  }
  jail.serial = serial;
  jail.slot = slot;
  jail.plan = std::move(plan);
  jail.pid = made->pid;
  jail.pidfd = Fd(made->pidfd);
  jail.cgroup = std::move(*cgroup);
  jail.facts = of_jail;
  const Identity inside{Id{h.uid}, Id{h.gid}};
  auto ready = jail.network.valid() ? networks.leave() : Result<void>();
  if (ready) ready = map_jail(facts.proc, jail.pid, inside, facts.block, slot);
  if (ready) {
    InitOrder go;
    go.type = OrderType::kGo;
    ready = send_struct(jail.control.get(), go);
  }
  if (!ready) {
    jail.control.reset();  // init sees the end of its lifeline and exits
    ::waitid(P_PIDFD, static_cast<id_t>(jail.pidfd.get()), nullptr, WEXITED);
    jail.cgroup.remove();
    return tl::unexpected(ready.error());
  }
  return jail;
}

}  // namespace jail
