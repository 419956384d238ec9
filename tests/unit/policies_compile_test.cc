#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "jail/bpf.h"
#include "jail/syscalls.h"
#include "policies/compile.h"
#include "policies_fixture.h"
#include "tests/support/temp_dir.h"

using namespace policies;
using namespace policies_test;

namespace {

jail::Spec spec_of(const std::string& name) {
  return to_spec(find(name), shipped().syscalls(), {}).value();
}

std::size_t allowed_numbers(const jail::Spec& spec) {
  std::set<int> numbers;
  for (const jail::SyscallRule& r : spec.filter.rules)
    if (r.action == jail::SyscallAction::kAllow) numbers.insert(r.number);
  return numbers.size();
}

const jail::Mount* mount_at(const jail::Spec& spec, const std::string& target) {
  for (const jail::Mount& m : spec.mounts)
    if (m.target == target) return &m;
  return nullptr;
}

jail::Rlimit limit_of(const jail::Spec& spec, int resource) {
  for (const jail::Rlimit& r : spec.rlimits)
    if (r.resource == resource) return r;
  return {};
}

// What the compiled filter of a policy says to one call.
class Filter {
 public:
  explicit Filter(const std::string& policy)
      : program_(jail::compile_filter(spec_of(policy).filter).value()) {}

  [[nodiscard]] std::uint32_t ask(const std::string& name,
                                  std::initializer_list<std::uint64_t> args) const {
    seccomp_data call{};
    call.nr = jail::syscall_number(name).value();
    call.arch = 0xC000003E;  // AUDIT_ARCH_X86_64
    std::copy(args.begin(), args.end(), call.args);
    return jail::run_filter(program_, call);
  }

  [[nodiscard]] bool allows(const std::string& name,
                            std::initializer_list<std::uint64_t> args = {}) const {
    return ask(name, args) == SECCOMP_RET_ALLOW;
  }

  [[nodiscard]] std::size_t reachable() const { return jail::reachable_syscalls(program_).size(); }

 private:
  jail::BpfProgram program_;
};

constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                  CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
                                  CLONE_CHILD_CLEARTID;
constexpr std::uint64_t kFork = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | 17;
constexpr std::uint64_t kHigh = std::uint64_t{1} << 32U;

}  // namespace

TEST_CASE("tight reaches at most 50 system calls") {
  CHECK(allowed_numbers(spec_of("tight")) <= 50);
  CHECK(Filter("tight").reachable() <= 50);
  CHECK(allowed_numbers(spec_of("standard")) < allowed_numbers(spec_of("loose")));
}

TEST_CASE("no policy allows a call of the never list") {
  for (const char* name : {"tight", "standard", "loose"}) {
    const jail::Spec spec = spec_of(name);
    for (const NeverEntry& n : *shipped().syscalls().never().value())
      for (const jail::SyscallRule& r : spec.filter.rules)
        if (r.number == n.number) CHECK(r.action == jail::SyscallAction::kErrno);
  }
}

TEST_CASE("tight: threads, no processes, no namespaces") {
  const Filter tight("tight");
  CHECK(tight.allows("clone", {kThread}));
  CHECK_FALSE(tight.allows("clone", {kFork}));
  CHECK_FALSE(tight.allows("clone", {CLONE_VM | CLONE_VFORK | 17}));
  CHECK_FALSE(tight.allows("clone", {kThread | CLONE_NEWUSER}));
  CHECK_FALSE(tight.allows("clone", {CLONE_THREAD}));
  CHECK(tight.ask("clone3", {}) == (SECCOMP_RET_ERRNO | 38U));
  for (const char* name :
       {"fork", "vfork", "execve", "execveat", "socket", "socketpair", "kill", "prctl", "flock",
        "memfd_create", "statfs", "gettimeofday", "time", "getcpu", "mq_open", "pipe2"})
    CHECK(tight.ask(name, {}) == SECCOMP_RET_USER_NOTIF);
}

TEST_CASE("tight: no memory is writable and executable, and nothing becomes code") {
  const Filter tight("tight");
  CHECK(tight.allows("mmap", {0, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS}));
  CHECK(tight.allows("mmap", {0, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE}));
  CHECK_FALSE(tight.allows("mmap", {0, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS}));
  CHECK_FALSE(tight.allows("mmap", {0, 1, PROT_WRITE | PROT_EXEC, MAP_PRIVATE}));
  CHECK_FALSE(tight.allows("mmap", {0, 1, PROT_EXEC | PROT_WRITE | kHigh, MAP_PRIVATE}));
  CHECK(tight.allows("mprotect", {0, 1, PROT_READ}));
  CHECK_FALSE(tight.allows("mprotect", {0, 1, PROT_READ | PROT_EXEC}));
  CHECK(Filter("standard").allows("mmap", {0, 1, 7, MAP_PRIVATE | MAP_ANONYMOUS}));
}

TEST_CASE("tight: arguments of the tested calls") {
  const Filter tight("tight");
  CHECK(tight.allows("fcntl", {3, 0}));
  CHECK(tight.allows("fcntl", {3, 1030}));
  for (const std::uint64_t command : {5U, 6U, 7U, 8U, 36U, 37U, 38U, 1024U, 1026U})
    CHECK_FALSE(tight.allows("fcntl", {3, command}));
  CHECK(tight.allows("ioctl", {0, 0x5401}));
  for (const std::uint64_t request : {0x5412ULL, 0x541CULL, 0x5423ULL, kHigh | 0x5412ULL})
    CHECK_FALSE(tight.allows("ioctl", {0, request}));
  CHECK(tight.allows("prlimit64", {0, 7, 0, 1}));
  CHECK_FALSE(tight.allows("prlimit64", {0, 7, 1, 0}));
  CHECK_FALSE(tight.allows("prlimit64", {1, 7, 0, 1}));
  CHECK(tight.allows("chmod", {0, 0755}));
  CHECK_FALSE(tight.allows("chmod", {0, 04755}));
  CHECK(tight.allows("arch_prctl", {0x1002}));
  CHECK(tight.ask("arch_prctl", {0x3001}) == (SECCOMP_RET_ERRNO | 22U));
  CHECK(tight.ask("fsync", {3}) == SECCOMP_RET_ERRNO);  // succeeds, does nothing
  CHECK(tight.allows("restart_syscall"));
}

TEST_CASE("only loose watches files, by inotify or by fcntl") {
  constexpr std::uint64_t kNotify = 1026;  // F_NOTIFY
  for (const char* name : {"tight", "standard"}) {
    const Filter filter(name);
    for (const char* call : {"inotify_init", "inotify_init1", "inotify_add_watch"})
      CHECK(filter.ask(call, {}) == SECCOMP_RET_USER_NOTIF);
    CHECK_FALSE(filter.allows("fcntl", {3, kNotify}));
  }
  CHECK(Filter("standard").reachable() == 220);
  const Filter loose("loose");
  CHECK(loose.allows("inotify_add_watch"));
  CHECK(loose.allows("fcntl", {3, kNotify}));
  CHECK(loose.allows("fcntl", {3, 8}));
  CHECK(loose.reachable() == 264);
}

TEST_CASE("standard: processes and local sockets, still no namespaces and no network") {
  const Filter standard("standard");
  CHECK(standard.allows("clone", {kFork}));
  CHECK_FALSE(standard.allows("clone", {kFork | CLONE_NEWUSER}));
  CHECK_FALSE(standard.allows("clone", {kFork | CLONE_NEWNET}));
  CHECK(standard.allows("socket", {1, 1, 0}));
  for (const std::uint64_t domain : {2U, 10U, 16U, 17U, 38U, 40U})
    CHECK_FALSE(standard.allows("socket", {domain, 1, 0}));
  CHECK_FALSE(standard.allows("personality", {0x0440000}));
  CHECK(standard.allows("personality", {0xffffffff}));
  CHECK_FALSE(standard.allows("memfd_create"));
  CHECK(standard.allows("flock", {3, 2}));
  CHECK_FALSE(standard.allows("mknodat", {0, 0, 020644}));
  CHECK(standard.allows("mknodat", {0, 0, 010644}));
}

TEST_CASE("loose: TCP and UDP and nothing beside them") {
  const Filter loose("loose");
  CHECK(loose.allows("socket", {2, 1 | 02000000, 0}));
  CHECK(loose.allows("socket", {10, 2, 17}));
  CHECK(loose.allows("socket", {16, 3, 0}));
  CHECK_FALSE(loose.allows("socket", {2, 1, 262}));
  CHECK_FALSE(loose.allows("socket", {2, 1, 132}));
  CHECK_FALSE(loose.allows("socket", {2, 2, 136}));
  CHECK_FALSE(loose.allows("socket", {2, 3, 1}));
  CHECK_FALSE(loose.allows("socket", {2, 2, 1}));
  CHECK_FALSE(loose.allows("socket", {2, 6, 33}));
  CHECK_FALSE(loose.allows("socket", {16, 3, 12}));
  CHECK_FALSE(loose.allows("socket", {17, 3, 0}));
  CHECK_FALSE(loose.allows("socket", {43, 1, 0}));
  CHECK(loose.allows("memfd_create"));
  CHECK(loose.allows("mq_open"));
  CHECK(loose.allows("prctl", {36, 1}));
  CHECK_FALSE(loose.allows("prctl", {35, 1}));
  CHECK(loose.allows("ioctl", {0, 0x5405}));
  for (const std::uint64_t request :
       {0x5412ULL, 0x541CULL, 0x541DULL, 0x5423ULL, kHigh | 0x5412ULL})
    CHECK_FALSE(loose.allows("ioctl", {0, request}));
  for (const char* name : {"ptrace", "unshare", "io_uring_setup", "bpf", "mount", "setns"})
    CHECK(loose.ask(name, {}) == SECCOMP_RET_USER_NOTIF);
}

TEST_CASE("on_deny = kill ends the process") {
  const Policy p = own("extends = \"tight\"\nwhy = \"x\"\n[syscalls]\non_deny = \"kill\"\n");
  CHECK(to_spec(p, shipped().syscalls(), {}).value().filter.fallback == jail::SyscallAction::kKill);
}

TEST_CASE("limits become rlimits and totals") {
  const jail::Spec spec = spec_of("tight");
  CHECK(limit_of(spec, RLIMIT_NOFILE) == jail::Rlimit{RLIMIT_NOFILE, 256, 256});
  CHECK(limit_of(spec, RLIMIT_CPU) == jail::Rlimit{RLIMIT_CPU, 30, 31});
  CHECK(limit_of(spec, RLIMIT_FSIZE).hard == jail::mib(128).value);
  CHECK(limit_of(spec, RLIMIT_MSGQUEUE) == jail::Rlimit{RLIMIT_MSGQUEUE, 0, 0});
  CHECK(limit_of(spec_of("loose"), RLIMIT_MSGQUEUE).hard == 819'200);
  CHECK(limit_of(spec, RLIMIT_SIGPENDING).hard < 2000);
  for (const jail::Rlimit& r : spec.rlimits) {
    CHECK(r.resource != RLIMIT_AS);
    CHECK(r.resource != RLIMIT_DATA);
    CHECK(r.soft <= r.hard);
  }
  CHECK(spec.totals == jail::Totals{jail::mib(1024), 64, Millis(30'000)});
  const Policy p = own("extends = \"tight\"\nwhy = \"x\"\n[limits]\ncpu_time = \"1001ms\"\n");
  CHECK(limit_of(to_spec(p, shipped().syscalls(), {}).value(), RLIMIT_CPU).soft == 2);
}

TEST_CASE("the tree of a jail") {
  const jail::Spec tight = spec_of("tight");
  CHECK(tight.workdir == "/mnt/data");
  CHECK(tight.code_dir == "/run/sandglass");
  REQUIRE(mount_at(tight, "/mnt/data") != nullptr);
  CHECK(mount_at(tight, "/mnt/data")->size == jail::mib(256));
  CHECK(mount_at(tight, "/mnt/data")->exec == jail::Exec::kNoExec);
  CHECK(mount_at(tight, "/usr") == nullptr);
  CHECK(mount_at(tight, "/dev/fd") == nullptr);
  CHECK(mount_at(tight, "/dev/null")->kind == jail::MountKind::kDevice);
  const std::string users = mount_at(tight, "/etc/passwd")->contents;
  CHECK(std::count(users.begin(), users.end(), '\n') == 3);
  CHECK(users.find("sandbox:x:1000:1000:sandbox:/mnt/data:") != std::string::npos);
  const jail::Spec standard = spec_of("standard");
  CHECK(mount_at(standard, "/usr") != nullptr);
  // /usr shows them.
  CHECK(mount_at(standard, "/usr/lib/python3") == nullptr);
  CHECK(mount_at(standard, "/dev/fd")->source == "/proc/self/fd");
  CHECK(mount_at(spec_of("loose"), "/mnt/data")->exec == jail::Exec::kExec);
  CHECK(mount_at(spec_of("loose"), "/dev/pts")->kind == jail::MountKind::kDevpts);
  for (const char* name : {"tight", "standard", "loose"}) {
    const jail::Spec spec = spec_of(name);
    CHECK(spec.mounts.size() <= 128);
    std::set<std::string> targets;
    for (const jail::Mount& m : spec.mounts) CHECK(targets.insert(m.target).second);
  }
}

TEST_CASE("outer folders come before inner ones") {
  Extras extras;
  extras.read_only.push_back({"/opt", "/usr/lib/extra", jail::Exec::kExec});
  extras.read_only.push_back({"/srv", "/usr/lib", jail::Exec::kExec});
  const auto table = mount_table(find("standard"), extras).value();
  const auto at = [&](const std::string& target) {
    return std::find_if(table.begin(), table.end(),
                        [&](const Placed& p) { return p.mount.target == target; }) -
           table.begin();
  };
  CHECK(at("/usr") < at("/usr/lib"));
  CHECK(at("/usr/lib") < at("/usr/lib/extra"));
}

TEST_CASE("the operator's binds are checked too") {
  const auto error = [](const char* source, const char* target) {
    Extras extras;
    extras.read_only.push_back({source, target, jail::Exec::kExec});
    return to_spec(find("tight"), shipped().syscalls(), extras).error().text;
  };
  CHECK(error("/proc", "/x") ==
        "--ro-bind: \"/proc\" is never bound: /proc of the host leads out of the jail");
  CHECK(error("/opt", "/mnt/data/x") ==
        "--ro-bind: target \"/mnt/data/x\" overlaps the workdir \"/mnt/data\"");
}

TEST_CASE("what a policy names may be a link to what is never bound") {
  const support::TempDir folder;
  for (const char* path : {"/proc/self", "/sys", "/dev", "/run", "/"}) {
    INFO(path);
    const std::string link = folder / "link";
    REQUIRE(::symlink(path, link.c_str()) == 0);
    Policy policy = find("standard");
    policy.files.read_only.push_back({link, "/opt/x", jail::Exec::kExec});
    const auto spec = to_spec(policy, shipped().syscalls(), {});
    REQUIRE_FALSE(spec);
    CHECK(spec.error().text.starts_with("files.read_only \"" + link + "\" is a link: \"/"));
    ::unlink(link.c_str());
  }
}

TEST_CASE("restricted has no jail") {
  CHECK(to_spec(find("restricted"), shipped().syscalls(), {}).error().text ==
        "the policy \"restricted\" starts no process; it evaluates arithmetic only: use sandglass "
        "eval, or --policy standard");
}
