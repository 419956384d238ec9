// What runs are made of: signals that are noted, what killed runs have left, a command from start
// to end, and what keeps the gate shut.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "runner/reach/gate.h"
#include "runner/reach/interrupt.h"
#include "runner/reach/stale.h"
#include "runner/reach/under.h"
#include "tests/support/temp_dir.h"

using namespace runner::reach;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

const Names kEnvironment{"PATH=/usr/bin:/bin"};

// A pid that was somebody's and is nobody's any more.
pid_t past_pid() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  return child;
}

void touch(const std::string& path) { std::ofstream(path) << "x"; }

}  // namespace

TEST_CASE("signals are noted while it lives, and what was before comes back") {
  struct sigaction before {};
  struct sigaction now {};
  REQUIRE(::sigaction(SIGTERM, nullptr, &before) == 0);
  (void)::signal(SIGHUP, SIG_IGN);
  {
    const Interrupt interrupt;
    CHECK_FALSE(is_interrupted());
    ::raise(SIGHUP);  // nohup has it ignored
    CHECK_FALSE(is_interrupted());
    ::raise(SIGTERM);
    CHECK(is_interrupted());
    CHECK(interrupted().value().text == "interrupted; nothing is left behind");
    forget_interrupt();
    CHECK_FALSE(is_interrupted());
  }
  (void)::signal(SIGHUP, SIG_DFL);
  REQUIRE(::sigaction(SIGTERM, nullptr, &now) == 0);
  CHECK(now.sa_handler == before.sa_handler);
}

TEST_CASE("only what a killed run of ours has left is swept") {
  const support::TempDir folder;
  const std::string past = std::to_string(past_pid());
  const std::string mine = std::to_string(::getpid());
  fs::create_directories(folder / ("x-" + past + "-folder/below"));
  touch(folder / ("x-" + past + "-file"));
  touch(folder / ("x-" + past + "-held"));
  touch(folder / ("x-" + mine + "-alive"));
  touch(folder / ("y-" + past + "-other"));
  touch(folder / "x-nobody");
  touch(folder / "target");
  fs::create_symlink(folder / "target", folder / ("x-" + past + "-link"));
  const jail::Fd held = hold(folder / ("x-" + past + "-held"));
  REQUIRE(held.valid());
  Names swept = sweep_stale(folder.path(), "x-");
  std::sort(swept.begin(), swept.end());
  CHECK(swept == Names{"x-" + past + "-file", "x-" + past + "-folder"});
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 6);
}

TEST_CASE("a command ends at its limit, whatever it does with its streams") {
  const auto run = [](const std::string& code, std::chrono::milliseconds limit) {
    const auto said = run_plainly({"/bin/sh", "-c", code}, kEnvironment, limit);
    REQUIRE(said);
    return *said;
  };
  const Said well = run("echo out; echo err >&2; exit 3", 20s);
  CHECK(well.in_time);
  CHECK(well.out == "out\n");
  CHECK(well.err == "err\n");
  CHECK(WEXITSTATUS(well.wait_status) == 3);
  for (const char* code : {"exec sleep 1000", "exec >&- 2>&-; exec sleep 1000"}) {
    INFO(code);
    const Said late = run(code, 200ms);
    CHECK_FALSE(late.in_time);
    CHECK(WTERMSIG(late.wait_status) == SIGKILL);
  }
  const Said much = run("head -c 3000000 /dev/zero; echo last", 20s);
  CHECK(much.in_time);
  CHECK(much.out.size() <= 512U << 10U);
  CHECK(much.out.ends_with("last\n"));
}

TEST_CASE("who must be blocked and has not answered keeps the gate shut") {
  const auto row = [](const char* id, Verdict verdict, bool impossible = false) {
    Row made;
    made.probe = find_probe(id);
    made.expected = Verdict::kBlocked;
    made.got = {verdict, "", 0, impossible};
    return made;
  };
  Report report;
  report.rows = {row("f01", Verdict::kBlocked), row("f02", Verdict::kReached),
                 row("f03", Verdict::kInconclusive), row("f04", Verdict::kInconclusive, true)};
  const auto open = holes(report, Policy::kShipped);
  REQUIRE(open.size() == 1);
  CHECK(open[0]->probe->id == "f02");
  const auto mute = unanswered(report);
  REQUIRE(mute.size() == 2);
  CHECK(mute[0]->probe->id == "f03");
  CHECK(mute[1]->probe->id == "f04");
  // Where the host cannot make these jails at all, nothing will run in them.
  report.rows.erase(report.rows.begin(), report.rows.begin() + 2);
  CHECK(unanswered(report).empty());
  report.rows[1].got.impossible = false;
  CHECK(unanswered(report).size() == 2);
}
