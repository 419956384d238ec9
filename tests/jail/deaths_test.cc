// SIGKILL for each of our own processes at odd moments: within two seconds nothing is left.
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/support/jail_client.h"
#include "tests/support/leftovers.h"
#include "tests/support/require.h"

namespace {

using support::base_spec;
using support::Launch;
using support::Spawner;

constexpr std::chrono::seconds kTwoSeconds{2};
constexpr int kRounds = 6;

enum class Victim { kKeeper, kWorker, kBoth };

std::string name_of(Victim v) {
  if (v == Victim::kBoth) return "keeper and worker";
  return v == Victim::kKeeper ? "keeper" : "worker";
}

void set_going(Spawner& spawner, const jail::Fd& plan) {
  REQUIRE(jail::send_pool(spawner.socket(), plan, 4).has_value());
  for (const char* payload : {"waits", "ignores_sigint", "stops_itself"})
    (void)spawner.start(plan, {payload, "2"});
}

void kill_one(const Spawner& spawner, Victim victim) {
  const jail::Hello& hello = spawner.hello();
  if (victim != Victim::kWorker) REQUIRE(::kill(hello.keeper_pid, SIGKILL) == 0);
  if (victim != Victim::kKeeper) REQUIRE(::kill(hello.worker_pid, SIGKILL) == 0);
}

// Sooner and later, differently each round, and the same in each run.
void wait_a_moment(int round) { ::usleep(static_cast<useconds_t>(round * round * 1500 + round)); }

}  // namespace

TEST_CASE("when the keeper, the worker or both are killed, all of it goes") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  const Victim victim = GENERATE(Victim::kKeeper, Victim::kWorker, Victim::kBoth);
  INFO(backend << ", " << name_of(victim));
  const support::Leftovers leftovers;
  for (int round = 0; round < kRounds; ++round) {
    Spawner spawner(backend);
    set_going(spawner, support::plan_of(base_spec()));
    wait_a_moment(round);
    kill_one(spawner, victim);
    CHECK(spawner.wait(std::chrono::seconds(5)).has_value());
    while (spawner.next(std::chrono::seconds(5))) {
    }
    CHECK(spawner.gone());
    if (victim == Victim::kWorker) {
      CHECK(leftovers.found(kTwoSeconds) == "");
    } else {
      // The folders' owner is gone; whoever comes next removes them, empty as they are.
      CHECK(support::eventually(
          [&] {
            jail::sweep_after(spawner.hello());
            return leftovers.found(std::chrono::milliseconds(0)).empty();
          },
          kTwoSeconds));
    }
  }
  CHECK(leftovers.found(kTwoSeconds) == "");
}

TEST_CASE("the next spawner sweeps what a killed one left") {
  support::require(support::Feature::kRoot);
  support::require(support::Feature::kMemoryCgroup);
  const support::Leftovers leftovers;
  {
    Spawner spawner;
    set_going(spawner, support::plan_of(base_spec()));
    wait_a_moment(3);
    kill_one(spawner, Victim::kBoth);
    while (spawner.next(std::chrono::seconds(5))) {
    }
  }
  // A live process would still hold a folder; zombies, ours by now, do not.
  CHECK(support::eventually(
      [] {
        const auto all = support::descendants_of(::getpid());
        return std::none_of(all.begin(), all.end(), support::is_alive);
      },
      kTwoSeconds));
  { const Spawner next; }
  CHECK(leftovers.found(kTwoSeconds) == "");
}

// Each sweeps what it takes for a dead one's while others are just being born.
TEST_CASE("spawners that come and go at the same time leave each other alone") {
  support::require(support::Feature::kUserNamespaces);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    int failed = 0;
    for (int round = 0; round < 40; ++round) {
      Spawner spawner;
      const support::Run run = spawner.run(base_spec(), {"exits_with", "9"});
      if (run.error || WEXITSTATUS(run.ended.wait_status) != 9) ++failed;
    }
    std::_Exit(failed);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
}

TEST_CASE("when init is killed, its jail ends and the others go on") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  const support::Leftovers leftovers;
  {
    Spawner spawner(backend);
    const jail::Fd plan = support::plan_of(base_spec());
    const Launch other = spawner.start(plan, {"waits", "2"});
    (void)spawner.launched(other.id);
    for (int round = 0; round < kRounds; ++round) {
      const Launch launch = spawner.start(plan, {"waits", "3"});
      const jail::Launched launched = spawner.launched(launch.id);
      wait_a_moment(round);
      const int sent = static_cast<int>(
          ::syscall(SYS_pidfd_send_signal, launched.init.get(), SIGKILL, nullptr, 0));
      if (sent != 0) REQUIRE(::geteuid() != 0);  // another uid's process: the spawner may, we not
      if (sent != 0) REQUIRE(jail::send_kill(spawner.socket(), launch.id).has_value());
      const support::Run run = spawner.finish(launch, std::chrono::seconds(5));
      CHECK_FALSE(run.ended.exited);
      if (sent == 0) CHECK(run.ended.cause == jail::KillCause::kNone);
    }
    REQUIRE(jail::send_kill(spawner.socket(), other.id).has_value());
    CHECK(spawner.finish(other).ended.cause == jail::KillCause::kRequested);
  }
  CHECK(leftovers.found(kTwoSeconds) == "");
}

TEST_CASE("when the caller is killed, its spawner and all its jails go") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  const support::Leftovers leftovers;
  for (int round = 0; round < kRounds; ++round) {
    int ready[2];
    REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    const jail::Fd read_end(ready[0]);
    jail::Fd write_end(ready[1]);
    const pid_t caller = ::fork();
    if (caller == 0) {
      Spawner spawner(backend);
      set_going(spawner, support::plan_of(base_spec()));
      if (::write(write_end.get(), "r", 1) == 1) ::pause();
      std::_Exit(1);
    }
    write_end.reset();
    char byte = 0;
    CHECK(::read(read_end.get(), &byte, 1) == 1);
    wait_a_moment(round);
    REQUIRE(::kill(caller, SIGKILL) == 0);
    REQUIRE(::waitpid(caller, nullptr, 0) == caller);
    CHECK(leftovers.found(kTwoSeconds) == "");
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

TEST_CASE("a spawner with nothing to do costs nothing, and ends at once") {
  support::require(support::Feature::kUserNamespaces);
  const support::Leftovers leftovers;
  Spawner spawner;
  ::usleep(500000);
  CHECK(support::cpu_seconds(spawner.hello().worker_pid) < 0.2);
  CHECK(spawner.stop() == 0);
  CHECK(leftovers.found(kTwoSeconds) == "");
}
