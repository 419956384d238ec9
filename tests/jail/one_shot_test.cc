// The launcher and one execution, with a real spawner, by what a command line sees.
#include "runner/session/one_shot.h"

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "policies/load.h"
#include "runner/session/content.h"
#include "tests/support/leftovers.h"
#include "tests/support/require.h"
#include "tests/support/temp_dir.h"

using namespace runner;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

void require_jails() {
  support::require(support::Feature::kUserNamespaces);
  support::require(support::Feature::kSeccompNotify);
}

const Home& home() {
  static const Home here{SANDGLASS_TEST_SPAWNER, SANDGLASS_TEST_SHARE "/policies",
                         SANDGLASS_TEST_SHARE};
  return here;
}

const policies::Library& library() {
  static const auto opened = policies::Library::open(home().policies);
  REQUIRE(opened);
  return *opened;
}

Job shell(const std::string& script) {
  Job job;
  job.what = Program{{"/bin/sh", "-c", script}};
  return job;
}

Result<JobReport> run(Job job, const OneShotOptions& options = {}) {
  OneShot one_shot(home());
  return one_shot.run(library(), std::move(job), options);
}

JobReport finished(Job job, const OneShotOptions& options = {}) {
  auto result = run(std::move(job), options);
  if (!result) FAIL(result.error().text);
  return std::move(*result);
}

// The process this one has started, by /proc: the spawner's keeper.
pid_t keeper() {
  const std::string self = std::to_string(::getpid());
  std::ifstream children("/proc/self/task/" + self + "/children");
  pid_t pid = 0;
  children >> pid;
  return pid;
}

}  // namespace

TEST_CASE("output, exit code and usage come back, and nothing stays") {
  require_jails();
  const support::Leftovers leftovers;
  const JobReport result = finished(shell("echo out; echo err >&2; exit 3"));
  CHECK(result.outcome.word == Word::kExited);
  CHECK(result.outcome.exit_code == 3);
  CHECK(result.out == "out\n");
  CHECK(result.err == "err\n");
  CHECK(leftovers.found().empty());
}

TEST_CASE("several jobs, one spawner") {
  require_jails();
  OneShot one_shot(home());
  for (int i = 0; i < 3; ++i) {
    const auto result = one_shot.run(library(), shell("echo " + std::to_string(i)), {});
    REQUIRE(result);
    CHECK(result->out == std::to_string(i) + "\n");
  }
}

TEST_CASE("the deadline asks first, then kills, and the answer comes in time") {
  require_jails();
  Job job = shell("trap '' INT; echo started; while :; do sleep 1; done");
  job.wish.wall_time = jail::Millis{300};
  const auto start = Clock::now();
  const JobReport result = finished(std::move(job));
  CHECK(Clock::now() - start < 300ms + result.policy.limits.grace + 3s);
  CHECK(result.outcome.word == Word::kTimedOut);
  CHECK(result.outcome.exit_code == 124);
  CHECK(result.out == "started\n");

  Job polite = shell("trap 'echo bye; exit 0' INT; echo started; while :; do sleep 0.05; done");
  polite.wish.wall_time = jail::Millis{300};
  const JobReport asked = finished(std::move(polite));
  CHECK(asked.outcome.word == Word::kTimedOut);
  CHECK(asked.out == "started\nbye\n");
}

TEST_CASE("a payload that stops itself meets its deadline") {
  require_jails();
  Job job = shell("kill -STOP $$");
  job.wish.wall_time = jail::Millis{300};
  const JobReport result = finished(std::move(job));
  CHECK(result.outcome.word == Word::kTimedOut);
}

TEST_CASE("a grandchild that holds stdout does not hold us") {
  require_jails();
  const auto start = Clock::now();
  const JobReport result = finished(shell("(trap '' HUP TERM INT; sleep 30) & echo done"));
  CHECK(Clock::now() - start < 5s);
  CHECK(result.outcome.word == Word::kOk);
  CHECK(result.out == "done\n");
}

TEST_CASE("the output cap cuts and counts, and the payload ends as it likes") {
  require_jails();
  Job job = shell("head -c 3000000 /dev/zero; exit 0");
  job.wish.output = jail::kib(100);
  const JobReport result = finished(std::move(job));
  CHECK(result.outcome.word == Word::kOk);
  CHECK(result.outcome.out.truncated);
  CHECK(result.outcome.out.produced == 3'000'000);
  CHECK(result.out.size() == 102'400);
  CHECK_FALSE(result.outcome.err.truncated);
}

TEST_CASE("a payload that closes its descriptors, and one that is not there") {
  require_jails();
  CHECK(finished(shell("exec 0<&- 1>&- 2>&-; exit 4")).outcome.exit_code == 4);
  Job missing;
  missing.what = Program{{"no-such-program"}};
  const auto result = run(std::move(missing));
  REQUIRE_FALSE(result);
  CHECK(exit_code_of(result.error()) == 127);
  CHECK(result.error().text.find("no-such-program") != std::string::npos);
}

TEST_CASE("a spawner that dies is an error, soon, and leaves nothing") {
  require_jails();
  const support::Leftovers leftovers;
  const auto start = Clock::now();
  std::thread killer;
  Result<JobReport> result = fail(ErrorKind::kHost, "not run");
  {
    OneShot one_shot(home());
    killer = std::thread([] {
      std::this_thread::sleep_for(500ms);
      ::kill(keeper(), SIGKILL);
    });
    result = one_shot.run(library(), shell("sleep 30"), {});
    killer.join();
  }
  CHECK(Clock::now() - start < 10s);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::kSpawner);
  CHECK(leftovers.found().empty());
}

TEST_CASE("no spawner is an error that says where it belongs") {
  const Home wrong{"/nowhere/sandglass-spawner", home().policies, home().share};
  OneShot one_shot(wrong);
  const auto result = one_shot.run(library(), shell("true"), {});
  REQUIRE_FALSE(result);
  CHECK(result.error().text.find("/nowhere/sandglass-spawner: ENOENT") != std::string::npos);
}

TEST_CASE("refused calls come with rule and remedy") {
  require_jails();
  support::require_program("python3");
  Job job;
  job.policy = "tight";
  auto content = content_of("import socket\nsocket.socket()\n");
  REQUIRE(content);
  job.what = Code{"python", "", std::move(*content), {}};
  const JobReport result = finished(std::move(job));
  REQUIRE_FALSE(result.denied.empty());
  CHECK(result.denied[0].syscall == "socket");
  CHECK(result.denied[0].args == "AF_INET, SOCK_STREAM");
  CHECK(result.denied[0].allow_with.find("[syscalls] allow = [\"@") == 0);
}

TEST_CASE("files go in and come out, and unchanged ones and odd ones do not") {
  require_jails();
  const support::TempDir out;
  Job job = shell(
      "echo more >> changed; mkdir sub; echo new > sub/new; mkfifo fifo; ln -s /etc/passwd link");
  for (const char* name : {"same", "changed"}) {
    auto content = content_of("text\n");
    REQUIRE(content);
    job.files.push_back({name, std::move(*content)});
  }
  OneShotOptions options;
  options.out_dir = out.path().string();
  const JobReport result = finished(std::move(job), options);
  REQUIRE(result.files);
  CHECK(result.files->written.size() == 2);
  CHECK(result.files->unchanged == 1);
  CHECK(result.files->skipped_total == 2);
  CHECK(std::filesystem::exists(out / "sub/new"));
  CHECK_FALSE(std::filesystem::exists(out / "same"));
}
