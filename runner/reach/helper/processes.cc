// Processes outside, namespaces, and what a process shares with its parent.
#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <csignal>

#include "runner/reach/helper/say.h"

namespace reach {
namespace {

// A process outside that wants to be found; never one of our own.
int victim() { return std::atoi(given("REACH_PID")); }

struct Path {
  char text[100] = "";
};

Path of_victim(const char* what) {
  Path path;
  std::snprintf(path.text, sizeof path.text, "/proc/%d/%s", victim(), what);
  return path;
}

Said see() {
  struct stat st {};
  return must_work(::stat(of_victim("").text, &st), "seeing a process outside in /proc");
}

Said command_line() {
  const int file = ::open(of_victim("cmdline").text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return blocked(errno, "open its cmdline");
  char text[64] = "";
  const ssize_t got = ::read(file, text, sizeof text - 1);
  shut(file);
  return got > 0 ? reached("read the command line of a process outside")
                 : blocked(0, "it is empty");
}

Said trace() {
  // It is not stopped, and our end detaches.
  return must_work(::ptrace(PTRACE_SEIZE, victim(), nullptr, nullptr), "PTRACE_SEIZE");
}

Said trace_me() {
  return in_child(
      [] { return must_work(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr), "ptrace"); });
}

Said vm_read() {
  char byte = 0;
  const iovec local{&byte, 1};
  const iovec remote{&byte, 1};
  return looked_at(call(SYS_process_vm_readv, victim(), &local, 1, &remote, 1, 0),
                   "process_vm_readv of a process outside");
}

Said vm_write_self() {
  char byte = 0;
  const iovec local{&byte, 1};
  return looked_at(call(SYS_process_vm_writev, ::getpid(), &local, 1, &local, 1, 0),
                   "process_vm_writev");
}

Said signal_outside() { return must_work(::kill(victim(), 0), "signalling a process outside"); }

// Signal 0: who would be hit, without hitting.
Said signal_all() {
  if (::kill(-1, 0) == 0) return reached("kill(-1) would hit other processes");
  return blocked(errno, "kill(-1) hits nobody");
}

Said pidfd() {
  return must_work(call(SYS_pidfd_open, victim(), 0), "pidfd_open of a process outside");
}

Said take_descriptor() {
  const long process = call(SYS_pidfd_open, victim(), 0);
  if (process < 0) return looked_at(call(SYS_pidfd_getfd, -1, 0, 0), "pidfd_getfd");
  return must_work(call(SYS_pidfd_getfd, process, 1, 0), "pidfd_getfd of its stdout");
}

Said limits() {
  rlimit limit{};
  return must_work(::prlimit(victim(), RLIMIT_CORE, nullptr, &limit),
                   "prlimit of a process outside");
}

Said priority() {
  return must_work(::setpriority(PRIO_PROCESS, static_cast<id_t>(victim()), 19),
                   "setpriority of a process outside");
}

Said affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(victim(), sizeof set, &set) != 0)
    return blocked(errno, "sched_getaffinity of a process outside");
  return must_work(::sched_setaffinity(victim(), sizeof set, &set),
                   "sched_setaffinity of a process outside");
}

Said compare() {
  return looked_at(call(SYS_kcmp, ::getpid(), victim(), KCMP_FILE, 0UL, 0UL), "kcmp");
}

Said enter() {
  const int space = ::open(of_victim("ns/net").text, O_RDONLY | O_CLOEXEC);
  if (space < 0) return blocked(errno, "open its network namespace");
  shut(space);
  return reached("opened the namespaces of a process outside");
}

Said set_namespace() { return looked_at(call(SYS_setns, -1, 0), "setns"); }

Said unshare_user() {
  return in_child([] { return must_work(::unshare(CLONE_NEWUSER), "unshare(CLONE_NEWUSER)"); });
}

Said unshare_more() {
  return with_borrowed_root(0, [] {
    return must_work(::unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC),
                     "unshare of more namespaces");
  });
}

Said cloned(long child, const char* what) {
  if (child == 0) ::_exit(0);
  const Said said = must_work(child, what);
  if (child > 0) ::waitpid(static_cast<pid_t>(child), nullptr, __WALL);
  return said;
}

Said clone_user() {
  return cloned(call(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), "clone(CLONE_NEWUSER)");
}

// The flags lie in memory, where no filter sees them.
Said clone3_user() {
  unsigned long args[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
  return cloned(call(SYS_clone3, args, 64), "clone3(CLONE_NEWUSER)");
}

Said clone3_plain() {
  unsigned long args[11] = {0, 0, 0, 0, SIGCHLD};
  return cloned(call(SYS_clone3, args, 64), "clone3");
}

Said fork_once() { return cloned(::fork(), "fork"); }

Said vfork_once() {
  const pid_t child = ::vfork();
  if (child == 0) ::_exit(0);
  const Said said = must_work(child, "vfork");
  if (child > 0) ::waitpid(child, nullptr, 0);
  return said;
}

void* nothing(void* /*unused*/) { return nullptr; }

Said thread() {
  pthread_t other{};
  const int error = ::pthread_create(&other, nullptr, nothing, nullptr);
  if (error != 0) return blocked(error, "pthread_create");
  ::pthread_join(other, nullptr);
  return reached("started a thread");
}

// Who shares them is hit by killpg, and by what is typed at the terminal.
Said shared_session() {
  const long session = call(SYS_getsid, 0);
  if (session < 0) return blocked(errno, "getsid");
  if (session == ::getpid()) return blocked(0, "a session of its own");
  return reached("the session is shared with whoever started us");
}

Said oom_score() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return blocked(errno, "open oom_score_adj");
  const Said said = must_work(::write(file, "-500", 4), "a lower oom_score_adj");
  shut(file);
  return said;
}

Said victim_oom_score() { return open_it(of_victim("oom_score_adj").text, O_WRONLY); }

// Speaks last only if it lives on when its parent has ended.
Said survivor() {
  const pid_t child = ::fork();
  if (child < 0) return blocked(errno, "fork");
  if (child > 0) return blocked(0, "whatever it started ended with it");
  ::setsid();
  ::usleep(700'000);
  return reached("a process outlived the one that was started");
}

// Numbers of other processes by counting, without /proc.
Said guess_numbers() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return blocked(errno, "sched_getaffinity");
  int found = ::sched_getaffinity(victim(), sizeof set, &set) == 0 ? 1 : 0;
  const int own = ::getpid();
  const int parent = ::getppid();
  for (int pid = 2; pid < 3000; ++pid) {
    if (pid == own || pid == parent) continue;
    found += ::sched_getaffinity(pid, sizeof set, &set) == 0 ? 1 : 0;
  }
  if (found == 0) return blocked(ESRCH, "no other process has a number here");
  return reached("other processes have numbers here");
}

Said many_in_proc() {
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return blocked(errno, "list /proc");
  int count = 0;
  while (const dirent* entry = ::readdir(proc))
    count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? 1 : 0;
  ::closedir(proc);
  if (count <= 3) return blocked(0, "only its own processes in /proc");
  return reached("processes of others in /proc");
}

constexpr Entry kEntries[] = {
    {"p01", see},
    {"p02", command_line},
    {"p03", [] { return open_it(of_victim("environ").text, O_RDONLY); }},
    {"p04", [] { return open_it(of_victim("mem").text, O_RDONLY); }},
    {"p05", [] { return open_it(of_victim("maps").text, O_RDONLY); }},
    {"p06", trace},
    {"p07", trace_me},
    {"p08", vm_read},
    {"p09", vm_write_self},
    {"p10", signal_outside},
    {"p11", signal_all},
    {"p12", pidfd},
    {"p13", take_descriptor},
    {"p14", limits},
    {"p15", priority},
    {"p16", affinity},
    {"p17", compare},
    {"p18", enter},
    {"p19", set_namespace},
    {"p20", unshare_user},
    {"p21", unshare_more},
    {"p22", clone_user},
    {"p23", clone3_user},
    {"p24", clone3_plain},
    {"p25", fork_once},
    {"p26", vfork_once},
    {"p27", thread},
    {"p28", shared_session},
    {"p29", oom_score},
    {"p30", victim_oom_score},
    {"p31", survivor},
    {"p32", guess_numbers},
    {"p33", many_in_proc},
};

}  // namespace

Table process_probes() { return {kEntries, sizeof kEntries / sizeof kEntries[0]}; }

}  // namespace reach
