// sandglass-layers UID FOLDER LAYERS PLAN HELPER -- WORD...: runs a program without a jail, behind
// none or some of the layers that a jail has, each made by the jail's own code from the same plan.
// It is how `sandglass probe` finds out what a probe does where nothing stops it, and which layers
// stop it alone. The process is unprivileged whatever it was started as, and bounded: it can take
// things from itself, and from nobody else.
//
// LAYERS: "none", "waits" (none, and no time limit), or names joined by commas: user pid net other
// mount rlimit capability landlock seccomp. PLAN: the number of a descriptor with the jail's plan,
// or -1. HELPER: the number of a descriptor to execute, or -1: WORD[0] is a path. Exit code 125: a
// layer could not be set up.
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "jail/identity.h"
#include "jail/landlock.h"
#include "jail/mounts.h"
#include "jail/plan.h"

namespace {

constexpr int kFailed = 125;

[[noreturn]] void give_up(const char* step, int error) {
  std::fprintf(stderr, "sandglass-layers: %s: %s\n", step, strerrorname_np(error));
  std::_Exit(kFailed);
}

void must(long result, const char* step) {
  if (result < 0) give_up(step, errno);
}

template <class T>
T must(tl::expected<T, jail::SetupError> result, const char* step) {
  if (!result) give_up(step, result.error().error);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

struct Wanted {
  uid_t uid = 0;
  std::string folder;
  std::string layers;
  int plan = -1;
  int helper = -1;
  std::vector<std::string> words;

  [[nodiscard]] bool has(std::string_view layer) const {
    return ("," + layers + ",").find("," + std::string(layer) + ",") != std::string::npos;
  }
};

// Whatever the program does, it ends: by itself, or by these. One that only waits ends with its
// input.
void bound(const Wanted& wanted) {
  if (!wanted.has("waits")) ::alarm(40);
  const rlimit cpu{20, 22};
  ::setrlimit(RLIMIT_CPU, &cpu);
  rlimit core{};
  ::getrlimit(RLIMIT_CORE, &core);
  core.rlim_cur = 0;
  ::setrlimit(RLIMIT_CORE, &core);
}

// All that is permitted is in effect again: changing the uid has taken it away.
void keep_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  must(::syscall(SYS_capget, &header, data), "capget");
  for (auto& part : data) part.effective = part.permitted;
  must(::syscall(SYS_capset, &header, data), "capset");
}

// Root becomes somebody else at once. It keeps its capabilities until the layers stand. In a user
// namespace that knows nobody else (UID 0), to be root is made to give nothing (capabilities(7)).
void become_nobody(uid_t uid) {
  if (::geteuid() != 0) return;
  if (uid == 0) {
    must(jail::lock_securebits(), "securebits");
    return;
  }
  must(::setgroups(0, nullptr), "setgroups");
  must(::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "keep capabilities");
  must(::setresgid(uid, uid, uid), "setresgid");
  must(::setresuid(uid, uid, uid), "setresuid");
  keep_capabilities();
  must(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "dumpable");
}

void put(const char* path, const std::string& text) {
  const jail::Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  must(file.valid() ? ::write(file.get(), text.data(), text.size()) : -1, path);
}

void own_user_namespace(const Wanted& wanted) {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  must(::unshare(CLONE_NEWUSER), "user namespace");
  const auto map = [&](unsigned id) {
    const unsigned inside = wanted.has("user") ? 1000 : id;
    return std::to_string(inside) + " " + std::to_string(id) + " 1";
  };
  put("/proc/self/setgroups", "deny");
  put("/proc/self/uid_map", map(uid));
  put("/proc/self/gid_map", map(gid));
}

bool may_make_namespaces() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  ::syscall(SYS_capget, &header, data);
  return (data[0].effective & (1U << CAP_SYS_ADMIN)) != 0;
}

// Ends as the child has ended.
[[noreturn]] void end_like(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    (void)std::signal(WTERMSIG(status), SIG_DFL);
    ::raise(WTERMSIG(status));
  }
  std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : kFailed);
}

// The first process of a pid namespace is no ordinary one: ours is its child.
void into_pid_namespace() {
  for (int i = 0; i < 2; ++i) {
    const pid_t child = ::fork();
    must(child, "fork");
    if (child > 0) end_like(child);
  }
}

void namespaces(const Wanted& wanted) {
  int flags = 0;
  if (wanted.has("pid")) flags |= CLONE_NEWPID;
  if (wanted.has("net")) flags |= CLONE_NEWNET;
  if (wanted.has("mount")) flags |= CLONE_NEWNS;
  if (wanted.has("other")) flags |= CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  if (wanted.has("user") || (flags != 0 && !may_make_namespaces())) own_user_namespace(wanted);
  must(::unshare(flags), "namespaces");
  if (wanted.has("pid")) into_pid_namespace();
}

void loopback() {
  const jail::Fd s(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  must(s.valid() ? ::ioctl(s.get(), SIOCSIFFLAGS, &request) : -1, "loopback");
}

void limits(const jail::PlanView& plan) {
  for (const jail::PlanRlimit& l : plan.rlimits()) {
    rlimit now{};
    const auto resource = static_cast<__rlimit_resource>(l.resource);
    must(::getrlimit(resource, &now), "getrlimit");
    const rlimit wish{std::min<rlim_t>(l.soft, now.rlim_max),
                      std::min<rlim_t>(l.hard, now.rlim_max)};
    must(::setrlimit(resource, &wish), "setrlimit");
  }
}

// Where the tree is not the jail's, the helper and the working folder lie elsewhere.
void allow(const jail::Fd& ruleset, int at, std::uint64_t rights) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = at;
  must(::syscall(SYS_landlock_add_rule, ruleset.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0),
       "Landlock rule");
}

void second_wall(const Wanted& wanted, const jail::PlanView& plan) {
  const int abi = jail::landlock_abi();
  if (abi == 0) give_up("Landlock", EOPNOTSUPP);
  const jail::Fd rules = must(jail::landlock_rules(plan, abi), "Landlock");
  if (!wanted.has("mount")) {
    const jail::Fd folder(::open(".", O_PATH | O_CLOEXEC));
    constexpr std::uint64_t kFolder = 0x1ffe;  // all of the first ABI but execution
    allow(rules, folder.get(), kFolder);
    if (wanted.helper >= 0) allow(rules, wanted.helper, 1U | (1U << 2U));
  }
  must(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  must(jail::landlock_enter(rules), "Landlock");
}

// There is no listener here: what would be reported is refused as the listener refuses it.
int filter_file(const jail::PlanView& plan) {
  std::vector<sock_filter> program(plan.filter().begin(), plan.filter().end());
  for (sock_filter& step : program)
    if (step.code == (BPF_RET | BPF_K) && step.k == SECCOMP_RET_USER_NOTIF)
      step.k = SECCOMP_RET_ERRNO | EPERM;
  const int file = ::memfd_create("filter", 0);
  must(file, "memfd");
  must(::pwrite(file, program.data(), program.size() * sizeof(sock_filter), 0), "memfd");
  return file;
}

[[noreturn]] void execute(const Wanted& wanted, int filter) {
  // PR_SET_PDEATHSIG(2const): becoming somebody else has cleared it. Whoever started us waits for
  // us; should that be killed, we are not to stay.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  std::vector<std::string> words = wanted.words;
  if (filter >= 0) {
    const std::string number = std::to_string(filter);
    words.insert(words.begin() + 1, {"--filter", number});
  }
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (wanted.helper >= 0)
    ::syscall(SYS_execveat, wanted.helper, "", argv.data(), environ, AT_EMPTY_PATH);
  else
    ::execv(argv[0], argv.data());
  give_up("execve", errno);
}

[[noreturn]] void run(const Wanted& wanted) {
  bound(wanted);
  jail::Mapping mapping;
  jail::PlanView plan;
  if (wanted.plan >= 0) {
    const jail::Fd file(::fcntl(wanted.plan, F_DUPFD_CLOEXEC, 3));
    mapping =
        must(jail::Mapping::of(file, jail::Mapping::Mode::kShared, jail::kMaxPlanBytes), "plan");
    plan = must(jail::PlanView::read(mapping.bytes()), "plan");
    ::fcntl(wanted.plan, F_SETFD, FD_CLOEXEC);
  }
  if (wanted.helper >= 0) ::fcntl(wanted.helper, F_SETFD, FD_CLOEXEC);
  become_nobody(wanted.uid);
  namespaces(wanted);
  if (wanted.has("net") && plan.header().loopback == jail::Loopback::kUp) loopback();
  if (wanted.has("other"))
    must(::sethostname(plan.text(plan.header().hostname), plan.header().hostname.length), "name");
  ::umask(022);
  if (wanted.has("mount")) (void)must(jail::build_tree(plan), "mounts");
  must(::chdir(wanted.has("mount") ? plan.text(plan.header().workdir) : wanted.folder.c_str()),
       "folder");
  if (wanted.has("rlimit")) limits(plan);
  if (wanted.has("capability")) {
    if (may_make_namespaces()) {
      must(jail::drop_bounding_set(), "bounding set");
      must(jail::lock_securebits(), "securebits");
    }
    must(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  }
  must(jail::clear_capabilities(), "capabilities");
  if (wanted.has("landlock")) second_wall(wanted, plan);
  execute(wanted, wanted.has("seccomp") ? filter_file(plan) : -1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8 || std::strcmp(argv[6], "--") != 0) {
    std::fputs("usage: sandglass-layers UID FOLDER LAYERS PLAN HELPER -- WORD...\n", stderr);
    return kFailed;
  }
  Wanted wanted;
  wanted.uid = static_cast<uid_t>(std::strtoul(argv[1], nullptr, 10));
  wanted.folder = argv[2];
  wanted.layers = argv[3];
  wanted.plan = std::atoi(argv[4]);
  wanted.helper = std::atoi(argv[5]);
  wanted.words.assign(argv + 7, argv + argc);
  run(wanted);
}
