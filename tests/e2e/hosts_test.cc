// Bad days of the host: each made in namespaces of the test's own, nothing of the host is changed.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include "tests/e2e/e2e.h"
#include "tests/support/jail_client.h"
#include "tests/support/leftovers.h"
#include "tests/support/require.h"

using namespace e2e;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

constexpr int kNotMade = 98;  // a child's exit status when its bad day could not be made

void must(bool done) {
  if (!done) ::_exit(kNotMade);
}

// In a user namespace where no further one may be made.
void forbid_user_namespaces() {
  support::enter_namespaces(0);
  std::ofstream file("/proc/sys/user/max_user_namespaces");
  must(static_cast<bool>(file << 0 << std::flush));
}

// As a container's usual filter does it: new user namespaces are refused with EPERM, and clone3,
// whose flags a filter cannot see, does not exist.
void filter_user_namespaces() {
  constexpr auto kCall = static_cast<__u32>(offsetof(seccomp_data, nr));
  constexpr auto kFlags = static_cast<__u32>(offsetof(seccomp_data, args));
  constexpr __u32 kNewUser = CLONE_NEWUSER;
  std::array<sock_filter, 9> program = {{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, kCall},
      {BPF_JMP | BPF_JEQ | BPF_K, 5, 0, SYS_clone3},
      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_unshare},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_clone},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, kFlags},
      {BPF_JMP | BPF_JSET | BPF_K, 0, 2, kNewUser},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog filter{program.size(), program.data()};
  must(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  must(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0);
}

void cover(const std::string& path, const char* options = nullptr) {
  must(::mount("none", path.c_str(), "tmpfs", 0, options) == 0);
}

pid_t only_child_of(pid_t pid) {
  const std::string name = std::to_string(pid);
  std::ifstream children("/proc/" + name + "/task/" + name + "/children");
  pid_t child = 0;
  children >> child;
  return child;
}

}  // namespace

TEST_CASE("a full disk at --out: what happened is still told, and half a file is not left") {
  require_jails();
  const support::TempDir folder;
  const std::string out = folder / "out";
  fs::create_directories(out);
  Call call{.args = {"-c",
                     "\"$BIN\" run --json --out \"$OUT\" -c \"$CODE\"; echo \"exit $?\"; "
                     "ls -A \"$OUT\""}};
  call.program = "/bin/bash";
  call.env = {"BIN=" + support::sandglass_path(), "OUT=" + out,
              "CODE=open('a', 'w').write('small')\nopen('b', 'wb').write(b'x' * 1000000)\n"
              "print('hello')"};
  call.before_exec = [&] {
    support::enter_namespaces(CLONE_NEWNS);
    cover(out, "size=64k");
  };
  Ran ran = run(call);
  const std::string tail = "exit 125\na\n";
  REQUIRE(ran.out.size() > tail.size());
  CHECK(ran.out.substr(ran.out.size() - tail.size()) == tail);
  ran.out.resize(ran.out.size() - tail.size());
  const json::object object = document(ran);
  CHECK(text(object, "outcome") == "ok");
  CHECK(text(object, "stdout") == "hello\n");
  const json::object& error = object.at("error").as_object();
  CHECK(text(error, "kind") == "files");
  CHECK(text(error, "text") ==
        "no room in " + out + " for b (976.6K): ENOSPC; free some and run again");
}

TEST_CASE("without cgroups the limits are kept by other means, and it says so") {
  require_jails();
  const auto run_without = [](const Words& args) {
    Call call{.args = args};
    call.env = {"SANDGLASS_CGROUP=none"};
    return document(run(call));
  };
  const auto plain = run_without({"run", "--json", "-c", "print('hello')"});
  CHECK(text(plain, "stdout") == "hello\n");
  for (const char* limit : {"memory", "processes", "cpu_time"})
    CHECK(text(plain.at("limits").at(limit).as_object(), "enforced_by") == "rlimit and sampling");
  CHECK(text(plain.at("usage").as_object(), "peak_memory_from") == "rlimit and sampling");
  const auto memory = run_without(payload({"--json", "--memory=64M"}, {"fills_memory", "40", "3"}));
  CHECK(text(memory, "outcome") == "out_of_memory");
  CHECK(memory.at("exit_code") == 137);
  const auto processes = run_without(payload({"--json", "--processes=20"}, {"forks_forever"}));
  CHECK(text(processes, "stdout") == "end EAGAIN\nchildren 19\n");
  const auto time = run_without(payload({"--json", "--cpu-time=300ms"}, {"burns_cpu", "3"}));
  CHECK(text(time, "outcome") == "cpu_exceeded");
}

TEST_CASE("without user namespaces nothing runs, and the missing thing has a name") {
  require_jails();
  Call call{.args = {"run", "--json", "-c", "print('it ran')"}};
  call.before_exec = forbid_user_namespaces;
  for (int i = 0; i < 20; ++i) {  // the spawner dies before, while or after it is asked
    const Ran ran = run(call, 5s);
    CHECK(ran.code == 125);
    CHECK(contains(line(ran), "the limit of user namespaces is reached"));
    const json::object object = document(ran);
    const json::object& error = object.at("error").as_object();
    CHECK(text(error.at("setup").as_object(), "step") == "outer_user_namespace");
    CHECK(text(error.at("setup").as_object(), "errno") == "ENOSPC");
    CHECK_FALSE(contains(ran.out, "it ran"));
  }

  Call doctor{.args = {"doctor", "--json"}};
  doctor.before_exec = forbid_user_namespaces;
  const Ran advice = run(doctor);
  CHECK(advice.code == 1);
  CHECK(document(advice).at("standard_runs_fully") == false);
  CHECK(document(advice).at("trial").at("passed") == false);
}

TEST_CASE("user namespaces that a container's filter refuses are named, with the errno") {
  require_jails();
  // The filter does what it should: unshare(2) fails with EPERM.
  CHECK(support::in_child([] {
          filter_user_namespaces();
          return ::unshare(CLONE_NEWUSER) != 0 && errno == EPERM ? 7 : 1;
        }) == 7);
  Call call{.args = {"run", "--json", "-c", "print('it ran')"}};
  call.before_exec = filter_user_namespaces;
  const Ran ran = run(call, 5s);
  CHECK(ran.code == 125);
  CHECK(contains(line(ran), "user namespaces"));
  const json::object object = document(ran);
  const json::object& setup = object.at("error").at("setup").as_object();
  CHECK(text(setup, "step") == "outer_user_namespace");
  CHECK(text(setup, "errno") == "EPERM");
}

TEST_CASE("a /proc that is covered: all of it, or a part") {
  require_jails();
  Call call{.args = {"run", "-c", "print('it ran')"}};
  call.before_exec = [] {
    support::enter_namespaces(CLONE_NEWNS);
    cover("/proc");
  };
  if (!support::kSanitized) {
    const Ran all = run(call);
    CHECK(all.code == 125);
    CHECK(line(all) == "sandglass: cannot read /proc/self/exe: ENOENT; mount /proc");
  }

  // mount_namespaces(7): where the host's own /proc is partly covered, a new one would show more,
  // and the kernel refuses it to a user namespace.
  call.args = {"run", "--json", "-c", "print('it ran')"};
  call.before_exec = [] {
    support::enter_namespaces(CLONE_NEWNS);
    cover("/proc/sys");
  };
  const Ran part = run(call);
  CHECK(part.code == 125);
  CHECK(text(document(part).at("error").at("setup").as_object(), "step") == "proc");
  // `tight` has no /proc, and runs.
  call.args = {"run", "--policy", "tight", "-c", "print('it ran')"};
  CHECK(run(call).out == "it ran\n");
}

TEST_CASE("a host without /dev/null says that, and not that the spawner is missing") {
  require_jails();
  Call call{.args = {"run", "-c", "print('it ran')"}};
  call.before_exec = [] {
    support::enter_namespaces(CLONE_NEWNS);
    cover("/dev");
  };
  if (support::kSanitized) return;
  const Ran ran = run(call);
  CHECK(ran.code == 125);
  CHECK(line(ran) ==
        "sandglass: cannot start " +
            (fs::path(support::sandglass_path()).parent_path() / "sandglass-spawner").string() +
            ": ENOENT; /dev/null is missing or closed to us: mount a /dev");
}

TEST_CASE("killed in the middle, it leaves no process, cgroup, mount or file") {
  require_jails();
  const support::TempDir folder;
  const support::Leftovers leftovers;
  support::Child child({.args = {"exec", "--out", folder / "out", "--", "sh", "-c",
                                 "echo x >file; sleep 60 & sleep 60 & echo started; wait"}});
  REQUIRE(child.says("started"));
  CHECK(support::descendants_of(child.pid()).size() >= 5);  // keeper, worker, init, sh, sleeps
  child.signal(SIGKILL);
  CHECK(child.finish().code == -SIGKILL);
  CHECK(leftovers.found() == "");
  CHECK(tree(folder / "out").empty());
}

TEST_CASE("killed right after its start, it leaves nothing either") {
  require_jails();
  for (int delay = 0; delay < 20; delay += 2) {
    const support::Leftovers leftovers;
    support::Child child({.args = {"run", "-c", "import time; time.sleep(60)"}});
    ::usleep(static_cast<useconds_t>(delay) * 1000);
    child.signal(SIGKILL);
    CHECK(child.finish().code == -SIGKILL);
    CHECK(leftovers.found() == "");
  }
}

TEST_CASE("while it is stopped itself, as by ^Z, its payload gets no more time than the limit") {
  require_jails();
  const support::Leftovers leftovers;
  support::Child child({.args = {"exec", "--wall-time=1s", "--", "sh", "-c",
                                 "trap '' INT; echo started; sleep 60 & wait; sleep 60"}});
  REQUIRE(child.says("started"));
  child.signal(SIGSTOP);
  const auto only_spawner = [&] { return support::descendants_of(child.pid()).size() <= 2; };
  CHECK_FALSE(only_spawner());
  CHECK(support::eventually(only_spawner, 10s));
  child.signal(SIGCONT);
  const Ran ran = child.finish();
  CHECK(ran.code == 124);
  CHECK(line(ran) ==
        "sandglass: timeout: timed_out: it ran for longer than the wall-clock limit of 1s");
  CHECK(leftovers.found() == "");
}

TEST_CASE("a spawner that is killed is an error of ours, and leaves nothing") {
  require_jails();
  const support::Leftovers leftovers;
  support::Child child({.args = {"exec", "--", "sh", "-c", "echo started; sleep 60"}});
  REQUIRE(child.says("started"));
  const pid_t keeper = only_child_of(child.pid());
  REQUIRE(keeper > 0);
  REQUIRE(::kill(keeper, SIGKILL) == 0);
  const Ran ran = child.finish();
  CHECK(ran.code == 125);
  CHECK(ran.wall < 15s);
  CHECK(contains(line(ran), "sandglass: the spawner has died: it was killed by SIGKILL"));
  CHECK(leftovers.found() == "");
}

TEST_CASE("a program without its spawner or its policies says what is missing") {
  const support::TempDir folder;
  fs::create_directories(folder / "bin");
  fs::copy_file(support::sandglass_path(), folder / "bin/sandglass");
  Call call{.args = {"run", "-c", "1"}};
  call.program = folder / "bin/sandglass";
  const Ran alone = run(call);
  CHECK(alone.code == 125);
  CHECK(contains(line(alone), folder / "share/sandglass/policies"));
  const std::string share =
      fs::path(support::sandglass_path()).parent_path().parent_path() / "share/sandglass";
  fs::create_directories(folder / "share");
  fs::copy(share, folder / "share/sandglass", fs::copy_options::recursive);
  const Ran no_spawner = run(call);
  CHECK(no_spawner.code == 125);
  CHECK(contains(line(no_spawner), "cannot start " + folder / "bin/sandglass-spawner: ENOENT"));
}

TEST_CASE("a host with few descriptors is an error with a name, not a hang") {
  require_jails();
  for (const rlim_t few : {rlim_t{4}, rlim_t{8}, rlim_t{12}}) {
    if (support::kSanitized) continue;
    Call call{.args = {"run", "-c", "print('it ran')"}};
    call.before_exec = [few] {
      const rlimit limit{few, few};
      must(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    };
    const Ran ran = run(call, 15s);
    INFO(few << " descriptors: " << ran.err);
    CHECK(((ran.code == 125 && contains(ran.err, "sandglass: ")) ||
           (ran.code == 0 && ran.out == "it ran\n")));
    if (few == 4) CHECK(ran.code == 125);
    if (ran.code != 0) CHECK(contains(ran.err, "ulimit -n"));
    CHECK_FALSE(contains(ran.err, "system:"));  // the C++ library's and Boost's way to say it
  }
}
