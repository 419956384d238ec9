// Empty jails kept ready: filled in the background, used, dropped; and many of them leave nothing.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "jail/reserved_fds.h"
#include "tests/support/jail_client.h"
#include "tests/support/leftovers.h"
#include "tests/support/require.h"

namespace {

using support::base_spec;
using support::Launch;
using support::Run;
using support::Spawner;

std::set<pid_t> inits_of(const Spawner& spawner) {
  std::set<pid_t> found;
  for (const pid_t pid : support::descendants_of(spawner.hello().worker_pid))
    if (support::proc_text(pid, "comm") == "sandglass-init\n") found.insert(pid);
  return found;
}

bool settles_at(const Spawner& spawner, std::size_t count) {
  return support::eventually([&] { return inits_of(spawner).size() == count; });
}

// The process behind a pidfd: "Pid:" in its fdinfo.
pid_t pid_of(const jail::Fd& pidfd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd.get()));
  for (std::string word; info >> word;)
    if (word == "Pid:" && info >> word) return static_cast<pid_t>(std::stol(word));
  return -1;
}

}  // namespace

TEST_CASE("a pool fills, hands out what is ready, refills, and is dropped") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  const jail::Fd plan = support::plan_of(base_spec());
  REQUIRE(jail::send_pool(spawner.socket(), plan, 8).has_value());
  REQUIRE(settles_at(spawner, 8));
  const std::set<pid_t> ready = inits_of(spawner);
  const Launch launch = spawner.start(plan, {"waits"});
  const jail::Launched launched = spawner.launched(launch.id);
  CHECK(ready.count(pid_of(launched.init)) == 1);
  CHECK(settles_at(spawner, 9));  // the one in use and eight more
  REQUIRE(jail::send_pool(spawner.socket(), plan, 0).has_value());
  CHECK(settles_at(spawner, 1));
  CHECK(inits_of(spawner) == std::set<pid_t>{pid_of(launched.init)});
  REQUIRE(jail::send_kill(spawner.socket(), launch.id).has_value());
  CHECK(spawner.finish(launch).ended.cause == jail::KillCause::kRequested);
  CHECK(settles_at(spawner, 0));
  // Without a pool a launch makes its own.
  CHECK(WEXITSTATUS(spawner.finish(spawner.start(plan, {"exits_with", "3"})).ended.wait_status) ==
        3);
}

TEST_CASE("a pool grows and shrinks to what it is told") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const jail::Fd plan = support::plan_of(base_spec());
  for (const std::uint32_t target : {3U, 6U, 2U, 0U, 4U}) {
    REQUIRE(jail::send_pool(spawner.socket(), plan, target).has_value());
    INFO(target);
    CHECK(settles_at(spawner, target));
  }
}

TEST_CASE("two plans have two pools, and neither takes from the other") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  jail::Spec other = base_spec();
  other.hostname = "other";
  const jail::Fd one = support::plan_of(base_spec());
  const jail::Fd two = support::plan_of(other);
  REQUIRE(jail::send_pool(spawner.socket(), one, 2).has_value());
  REQUIRE(jail::send_pool(spawner.socket(), two, 2).has_value());
  REQUIRE(settles_at(spawner, 4));
  for (int i = 0; i < 6; ++i) {
    const Run run = spawner.finish(spawner.start(i % 2 == 0 ? one : two, {"describes_itself"}));
    CHECK(support::told(run.out)["hostname"] == (i % 2 == 0 ? "sandglass" : "other"));
  }
  REQUIRE(jail::send_pool(spawner.socket(), one, 0).has_value());
  CHECK(settles_at(spawner, 2));
}

TEST_CASE("a pool dropped while it is being filled is dropped") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const jail::Fd plan = support::plan_of(base_spec());
  for (int i = 0; i < 20; ++i) {
    REQUIRE(jail::send_pool(spawner.socket(), plan, 5).has_value());
    if (i % 2 == 0) ::usleep(static_cast<useconds_t>(i * 200));
    REQUIRE(jail::send_pool(spawner.socket(), plan, 0).has_value());
    REQUIRE(jail::send_pool(spawner.socket(), plan, 2).has_value());
    const Run run = spawner.finish(spawner.start(plan, {"exits_with", "3"}));
    REQUIRE_FALSE(run.error.has_value());
  }
  REQUIRE(jail::send_pool(spawner.socket(), plan, 0).has_value());
  CHECK(settles_at(spawner, 0));
}

TEST_CASE("jails cost the worker nothing of each other") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const pid_t worker = spawner.hello().worker_pid;
  const jail::Fd plan = support::plan_of(base_spec());
  const auto mapped = [worker] {
    const std::string maps = support::proc_text(worker, "maps");
    std::size_t count = 0;
    for (std::size_t at = 0; (at = maps.find("/memfd:plan", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  std::vector<Launch> launches;
  launches.reserve(12);
  for (int i = 0; i < 12; ++i) launches.push_back(spawner.start(plan, {"waits"}));
  for (const Launch& launch : launches) REQUIRE(support::is_ready(launch));
  CHECK(mapped() == 1);
  // An init has a table of files of its own by now: what it found in ours is let go of.
  for (int n = jail::ReservedFds::kFirst; n < jail::ReservedFds::kEnd; ++n) {
    const std::string path = "/proc/" + std::to_string(worker) + "/fd/" + std::to_string(n);
    CHECK(support::eventually([&] { return std::filesystem::read_symlink(path) == "/dev/null"; }));
  }
  for (const Launch& launch : launches) {
    REQUIRE(jail::send_kill(spawner.socket(), launch.id).has_value());
    CHECK(spawner.finish(launch).ended.cause == jail::KillCause::kRequested);
  }
  CHECK(settles_at(spawner, 0));
  CHECK(support::eventually([&] { return mapped() == 0; }));
}

TEST_CASE("a pool of jails that can't be made does not keep the worker busy") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  jail::Spec spec = base_spec();
  spec.mounts.push_back(support::entry(jail::MountKind::kBind, "/no/such/path", "/x"));
  const jail::Fd plan = support::plan_of(spec);
  REQUIRE(jail::send_pool(spawner.socket(), plan, 8).has_value());
  ::usleep(300000);
  const double before = support::cpu_seconds(spawner.hello().worker_pid);
  ::usleep(700000);
  CHECK(support::cpu_seconds(spawner.hello().worker_pid) - before < 0.1);
  const Run run = spawner.finish(spawner.start(plan, {"exits_with"}));
  CHECK(run.error == jail::SetupError{jail::Step::kOpenSource, 4, ENOENT});
}

TEST_CASE("a pooled jail that is killed from outside is replaced or given up, not handed out") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const jail::Fd plan = support::plan_of(base_spec());
  REQUIRE(jail::send_pool(spawner.socket(), plan, 3).has_value());
  REQUIRE(settles_at(spawner, 3));
  const std::set<pid_t> before = inits_of(spawner);
  for (const pid_t pid : before) ::kill(pid, SIGKILL);
  // Replaced: a launch that overtakes the news of a death gets an error, and that is all right.
  CHECK(support::eventually([&] {
    const std::set<pid_t> now = inits_of(spawner);
    return now.size() == 3 &&
           std::none_of(now.begin(), now.end(), [&](pid_t pid) { return before.count(pid) != 0; });
  }));
  const Run run = spawner.finish(spawner.start(plan, {"exits_with", "3"}));
  CHECK_FALSE(run.error.has_value());
}

TEST_CASE("a payload's process that is killed while it waits is no payload that ran") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const jail::Fd plan = support::plan_of(base_spec());
  REQUIRE(jail::send_pool(spawner.socket(), plan, 1).has_value());
  const auto waiting = [&] {
    std::vector<pid_t> found;
    for (const pid_t pid : support::descendants_of(spawner.hello().worker_pid))
      if (support::proc_text(pid, "comm") == "sandglass-next\n") found.push_back(pid);
    return found;
  };
  REQUIRE(support::eventually([&] { return waiting().size() == 1; }));
  ::kill(waiting().front(), SIGKILL);
  const Run run = spawner.finish(spawner.start(plan, {"exits_with", "3"}));
  // It is told, or has been replaced by then; never is the kill taken for the payload's own end.
  if (run.error) {
    CHECK(run.error->step == jail::Step::kReport);
  } else {
    CHECK(WEXITSTATUS(run.ended.wait_status) == 3);
  }
  const Run next = spawner.finish(spawner.start(plan, {"exits_with", "3"}));
  CHECK(WEXITSTATUS(next.ended.wait_status) == 3);
}

TEST_CASE("five hundred jails leave nothing behind and cost no memory") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  const support::Leftovers leftovers;
  long grown = 0;
  {
    Spawner spawner(backend);
    const jail::Fd plan = support::plan_of(base_spec());
    REQUIRE(jail::send_pool(spawner.socket(), plan, 8).has_value());
    long second_round = 0;
    for (int round = 0; round < 10; ++round) {
      std::vector<Launch> launches;
      launches.reserve(50);
      for (int i = 0; i < 50; ++i) launches.push_back(spawner.start(plan, {"exits_with", "9"}));
      for (const Launch& launch : launches) {
        const Run run = spawner.finish(launch);
        REQUIRE_FALSE(run.error.has_value());
        REQUIRE(WEXITSTATUS(run.ended.wait_status) == 9);
      }
      REQUIRE(settles_at(spawner, 8));
      if (round == 1) second_round = support::rss_kib(spawner.hello().worker_pid);
    }
    grown = support::rss_kib(spawner.hello().worker_pid) - second_round;
    CHECK(spawner.stop() == 0);
  }
  if (!support::kSanitized) CHECK(grown <= 1024);
  CHECK(leftovers.found() == "");
}
