// A flood of denied calls costs the payload its time and the host next to nothing.
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "tests/support/jail_client.h"
#include "tests/support/require.h"

namespace {

using support::base_spec;
using support::Launch;
using support::Run;
using support::Spawner;

}  // namespace

TEST_CASE("the first thousand refusals are quick, the rest slow, and the worker idle") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  const pid_t worker = spawner.hello().worker_pid;
  const double before = support::cpu_seconds(worker);
  const Launch flood =
      spawner.start(support::plan_of(base_spec()), {"floods_denied_calls", "5000"});
  std::this_thread::sleep_for(std::chrono::seconds(3));
  REQUIRE(jail::send_kill(spawner.socket(), flood.id).has_value());
  const Run run = spawner.finish(flood);
  CHECK(support::told(run.out)["thousand"] == "1000");
  CHECK(run.ended.denied_throttled);
  CHECK(run.ended.denied_total > 1000);
  CHECK(run.ended.denied_total < 1400);  // 3 s at one in 10 ms
  REQUIRE(run.denied.size() == 1);
  CHECK(run.denied[0].count == run.ended.denied_total);
  CHECK(support::cpu_seconds(worker) - before < (support::kSanitized ? 2.0 : 0.5));
}

TEST_CASE("a flooding jail does not slow its neighbour") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const jail::Fd plan = support::plan_of(base_spec());
  const Launch flood = spawner.start(plan, {"floods_denied_calls", "100000"});
  (void)spawner.launched(flood.id);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) {
    const Run run = spawner.finish(spawner.start(plan, {"makes_denied_calls"}));
    CHECK(run.ended.denied_total == 5);
  }
  const auto took = std::chrono::steady_clock::now() - start;
  CHECK(took < std::chrono::seconds(support::kSanitized ? 10 : 3));
  REQUIRE(jail::send_kill(spawner.socket(), flood.id).has_value());
  CHECK(spawner.finish(flood).ended.cause == jail::KillCause::kRequested);
}
