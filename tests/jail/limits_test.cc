// Limits over a whole jail, and payloads that do not want to end: each with every back end.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string_view>
#include <thread>

#include "tests/support/jail_client.h"
#include "tests/support/require.h"

namespace {

using jail::Enforcer;
using jail::KillCause;
using support::base_spec;
using support::Launch;
using support::Run;
using support::Spawner;
using Told = std::map<std::string, std::string>;

support::Backend any_backend() {
  support::require(support::Feature::kUserNamespaces);
  return GENERATE(from_range(support::backends()));
}

bool killed_by(const Run& run, int signal) {
  return run.ended.exited && WIFSIGNALED(run.ended.wait_status) &&
         WTERMSIG(run.ended.wait_status) == signal;
}

int exit_code(const Run& run) {
  if (run.error || !run.ended.exited || !WIFEXITED(run.ended.wait_status)) return -1;
  return WEXITSTATUS(run.ended.wait_status);
}

bool ran_out_of_memory(const Run& run) {
  return run.ended.cause == KillCause::kMemory || run.ended.oom_kills > 0;
}

}  // namespace

TEST_CASE("the spawner says who enforces what") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  const jail::Hello& hello = spawner.hello();
  const bool root = ::geteuid() == 0 && backend.as == support::As::kSelf;
  CHECK(hello.own_uid_per_jail == root);
  CHECK(hello.drops_groups == root);
  CHECK(hello.slots == 1023);
  if (!root) return;
  const bool v1 = support::has(support::Feature::kCgroupV1);
  const bool v2 = support::has(support::Feature::kCgroupV2);
  Enforcer wanted = Enforcer::kRlimit;
  if (backend.cgroup != "none" && backend.cgroup != "v2" && v1) wanted = Enforcer::kCgroupV1;
  if (backend.cgroup != "none" && backend.cgroup != "v1" && v2) wanted = Enforcer::kCgroupV2;
  CHECK(hello.memory == wanted);
  CHECK(hello.processes == wanted);
  CHECK(hello.cpu_time == wanted);
}

TEST_CASE("the process limit is exact") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.totals.processes = 20;
  const Run run = spawner.run(spec, {"forks_forever"});
  Told told = support::told(run.out);
  CHECK(told["children"] == "19");
  CHECK(told["end"] == "EAGAIN");
  CHECK(exit_code(run) == 0);
  CHECK(run.ended.process_limit_hits_known == (spawner.hello().processes != Enforcer::kRlimit));
  if (run.ended.process_limit_hits_known) CHECK(run.ended.process_limit_hits >= 1);
}

TEST_CASE("two jails do not share a process limit") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.totals.processes = 20;
  const jail::Fd plan = support::plan_of(spec);
  const Launch first = spawner.start(plan, {"waits", "15"});
  REQUIRE(support::is_ready(first));
  CHECK(support::told(spawner.finish(spawner.start(plan, {"forks_forever"})).out)["children"] ==
        "19");
  REQUIRE(jail::send_kill(spawner.socket(), first.id).has_value());
  CHECK(spawner.finish(first).ended.cause == KillCause::kRequested);
}

TEST_CASE("a fork bomb is one kill away from gone") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.totals.processes = 30;
  spec.rlimits = {{RLIMIT_NPROC, 200, 200}};  // for the host's sake, should the test fail
  const Launch bomb = spawner.start(support::plan_of(spec), {"forks_forever", "bomb"});
  (void)spawner.launched(bomb.id);
  ::usleep(500000);
  CHECK(support::descendants_of(spawner.hello().worker_pid).size() <= 31);
  REQUIRE(jail::send_kill(spawner.socket(), bomb.id).has_value());
  CHECK(spawner.finish(bomb, std::chrono::seconds(5)).ended.cause == KillCause::kRequested);
  CHECK(support::eventually(
      [&] { return support::descendants_of(spawner.hello().worker_pid).empty(); }));
}

TEST_CASE("memory of one process") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.totals.memory = jail::mib(64);
  const Run run = spawner.run(spec, {"fills_memory", "256", "1"});
  if (spawner.hello().memory == Enforcer::kRlimit) {
    CHECK(run.out == "refused ENOMEM\n");
    CHECK(exit_code(run) == 3);
  } else {
    // By the kernel, or by the worker when it has seen the kernel kill another.
    CHECK((killed_by(run, SIGKILL) || run.ended.cause == KillCause::kMemory));
    CHECK(run.ended.oom_kills >= 1);
    CHECK(run.ended.peak_memory.value > jail::mib(60).value);
    CHECK(run.ended.peak_memory.value <= jail::mib(64).value);
  }
}

TEST_CASE("memory of several processes together") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.totals.memory = jail::mib(64);
  const Run run = spawner.run(spec, {"fills_memory", "40", "3"}, std::chrono::seconds(20));
  CHECK(ran_out_of_memory(run));
  CHECK(run.ended.peak_memory.value > jail::mib(40).value);
}

TEST_CASE("what lies in a tmpfs is memory, whichever it is") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.totals.memory = jail::mib(32);
  spec.mounts[2].size = spec.mounts[3].size = jail::mib(200);
  for (const char* folder : {"/mnt/data", "/tmp"}) {
    INFO(folder);
    const Run run = spawner.run(spec, {"fills_folder_and_waits", folder});
    CHECK(ran_out_of_memory(run));
  }
}

TEST_CASE("peak memory is measured") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  const Launch launch = spawner.start(support::plan_of(base_spec()), {"fills_memory", "20", "1"});
  REQUIRE(support::eventually([&] { return support::text_of(launch.out) == "touched 20\n"; }));
  ::usleep(150000);
  REQUIRE(jail::send_kill(spawner.socket(), launch.id).has_value());
  const Run run = spawner.finish(launch);
  CHECK(run.ended.peak_memory.value >= jail::mib(20).value);
  CHECK(run.ended.peak_memory.value < jail::mib(40).value);
  CHECK(run.ended.peak_memory_from == spawner.hello().memory);
}

TEST_CASE("cpu time of all processes together") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.totals.cpu_time = jail::Millis(500);
  const Run run = spawner.run(spec, {"burns_cpu", "3"});
  CHECK(run.ended.cause == KillCause::kCpuTime);
  CHECK_FALSE(run.ended.exited);
  CHECK(run.ended.cpu_time >= jail::Millis(500));
  CHECK(run.ended.cpu_time < jail::Millis(1500));
}

TEST_CASE("wall time is the caller's to keep, and the spawner's when the caller does not") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  const jail::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const jail::Fd plan = support::plan_of(base_spec());
  const auto command = jail::make_command(support::payload_command({"waits", "1"}));
  REQUIRE(jail::send_pool(spawner.socket(), plan, 1).has_value());
  ::usleep(400'000);  // a jail made long before its launch has all of its time
  const jail::Stdio stdio{null, null, null};
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(jail::send_launch(spawner.socket(), 500, plan, *command, stdio, {}, jail::Millis(300)));
  const Run run = spawner.finish({500, support::file_with(""), support::file_with("")});
  const auto took = std::chrono::steady_clock::now() - start;
  CHECK(run.ended.cause == KillCause::kWallTime);
  CHECK_FALSE(run.ended.exited);
  CHECK(took >= std::chrono::milliseconds(300));
  CHECK(took < std::chrono::seconds(5));
  // Too long for the message's field is no limit, and no short one.
  const auto brief = jail::make_command(support::payload_command({"exits_with", "3"}));
  constexpr jail::Millis kLong{(std::int64_t{1} << 32) + 1};
  REQUIRE(jail::send_launch(spawner.socket(), 501, plan, *brief, stdio, {}, kLong));
  CHECK(exit_code(spawner.finish({501, support::file_with(""), support::file_with("")})) == 3);
}

TEST_CASE("an interrupt reaches the payload's group") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  const Launch launch = spawner.start(support::plan_of(base_spec()), {"waits", "3"});
  REQUIRE(support::is_ready(launch));
  (void)spawner.launched(launch.id);
  REQUIRE(jail::send_interrupt(spawner.socket(), launch.id).has_value());
  const Run run = spawner.finish(launch, std::chrono::seconds(5));
  CHECK(killed_by(run, SIGINT));
  CHECK(run.ended.cause == KillCause::kNone);
}

// Is a process below `root` stopped within five seconds?
bool soon_stopped(pid_t root) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (std::chrono::steady_clock::now() < until) {
    for (const pid_t pid : support::descendants_of(root))
      if (support::is_stopped(pid)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TEST_CASE("who ignores SIGINT or stops itself is killed all the same") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  for (const char* payload : {"ignores_sigint", "stops_itself"}) {
    INFO(payload);
    const Launch launch = spawner.start(support::plan_of(base_spec()), {payload});
    REQUIRE(support::is_ready(launch));
    (void)spawner.launched(launch.id);
    // It says that it is ready and then stops: an interrupt in between would end it as it should.
    if (payload == std::string_view("stops_itself")) REQUIRE(soon_stopped(spawner.pid()));
    REQUIRE(jail::send_interrupt(spawner.socket(), launch.id).has_value());
    CHECK_FALSE(spawner.next(std::chrono::milliseconds(200)).has_value());
    REQUIRE(jail::send_kill(spawner.socket(), launch.id).has_value());
    const Run run = spawner.finish(launch, std::chrono::seconds(5));
    CHECK(run.ended.cause == KillCause::kRequested);
    CHECK_FALSE(run.ended.exited);
  }
}

TEST_CASE("a payload's end is the end, whoever holds its output") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const jail::Fd read_end(ends[0]);
  jail::Fd write_end(ends[1]);
  const jail::Fd in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto command = jail::make_command(support::payload_command({"daemonises"}));
  REQUIRE(jail::send_launch(spawner.socket(), 500, support::plan_of(base_spec()), *command,
                            {in, write_end, write_end}, {})
              .has_value());
  write_end.reset();
  const Run run = spawner.finish({500, support::file_with(""), support::file_with("")},
                                 std::chrono::seconds(5));
  CHECK(exit_code(run) == 4);
  std::string text(100, '\0');
  REQUIRE(::fcntl(read_end.get(), F_SETFL, O_NONBLOCK) == 0);
  ssize_t n = ::read(read_end.get(), text.data(), text.size());
  CHECK(text.substr(0, n > 0 ? static_cast<std::size_t>(n) : 0) == "ready yes\n");
  CHECK(support::eventually([&] { return ::read(read_end.get(), text.data(), 1) == 0; }));
}

TEST_CASE("payloads that close, fork and signal end as what they are") {
  const support::Backend backend = any_backend();
  INFO(backend);
  Spawner spawner(backend);
  CHECK(exit_code(spawner.run(base_spec(), {"closes_its_fds"})) == 7);
  CHECK(exit_code(spawner.run(base_spec(), {"forks_then_exits"})) == 5);
  const Run signals = spawner.run(base_spec(), {"sends_signals_to_init"});
  // From ABI 6 Landlock refuses signals that leave the payload's domain; before, PID 1 ignores
  // them.
  const std::string refused = spawner.hello().landlock_abi >= 6 ? "65" : "0";
  CHECK(signals.out == "refused " + refused + "\neveryone ESRCH\nparent 1\n");
  CHECK(exit_code(signals) == 6);
  CHECK(support::eventually(
      [&] { return support::descendants_of(spawner.hello().worker_pid).empty(); }));
}

TEST_CASE("an interrupt or a kill for nobody, or too late, is nothing") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const Launch launch = spawner.start(support::plan_of(base_spec()), {"exits_with", "2"});
  CHECK(exit_code(spawner.finish(launch)) == 2);
  for (const std::uint64_t id : {launch.id, std::uint64_t{0}, ~std::uint64_t{0}}) {
    CHECK(jail::send_interrupt(spawner.socket(), id).has_value());
    CHECK(jail::send_kill(spawner.socket(), id).has_value());
  }
  CHECK(exit_code(spawner.run(base_spec(), {"exits_with", "3"})) == 3);
}
