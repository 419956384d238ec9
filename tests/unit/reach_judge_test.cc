// From what a probe said and how it ended to a verdict.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>

#include "runner/reach/subject.h"

using namespace runner;
using namespace runner::reach;

namespace {

const Probe& probe(const char* id) {
  const Probe* found = find_probe(id);
  REQUIRE(found != nullptr);
  return *found;
}

Answer said(const std::string& out) {
  Answer answer;
  answer.out = out;
  answer.exited = true;
  return answer;
}

Answer ended_with(int status) {
  Answer answer;
  answer.exited = true;
  answer.wait_status = status;
  return answer;
}

}  // namespace

TEST_CASE("the last line that is a verdict counts, with its errno") {
  const Observation got =
      judge(probe("f01"), said("noise\nREACHED x\nBLOCKED ENOENT open it\nz\n"));
  CHECK(got.verdict == Verdict::kBlocked);
  CHECK(got.error == ENOENT);
  CHECK(got.detail == "open it");
  const Observation reached = judge(probe("f01"), said("BLOCKED EPERM a\nREACHED read it\n"));
  CHECK(reached.verdict == Verdict::kReached);
  CHECK(reached.detail == "read it");
  const Observation plain = judge(probe("f15"), said("BLOCKED - three accounts\n"));
  CHECK(plain.verdict == Verdict::kBlocked);
  CHECK(plain.error == 0);
  CHECK(plain.detail == "three accounts");
}

TEST_CASE("what was said is shown as text, whatever it is") {
  const Observation got = judge(probe("c11"), said("REACHED \033]0;x\007\xff\n"));
  CHECK(got.verdict == Verdict::kReached);
  CHECK(got.detail == "\\x1b]0;x\\x07\\xff");
}

TEST_CASE("no verdict is no pass") {
  CHECK(judge(probe("f01"), said("")).verdict == Verdict::kInconclusive);
  CHECK(judge(probe("f01"), said("REACHEDx\n REACHED y\nBLOCKED\n")).verdict ==
        Verdict::kInconclusive);
  Answer crashed = ended_with(SIGSEGV);
  crashed.err = "what happened\nand more";
  const Observation got = judge(probe("f01"), crashed);
  CHECK(got.verdict == Verdict::kInconclusive);
  CHECK(got.detail == "it ended by SIGSEGV without a verdict: what happened");
  CHECK(judge(probe("f01"), ended_with(2 << 8)).detail == "it exited with 2 without a verdict");
  Answer unrun;
  unrun.error = Error{ErrorKind::kSpawner, "the spawner is gone", {}};
  CHECK(judge(probe("f01"), unrun).verdict == Verdict::kInconclusive);
  CHECK(judge(probe("f01"), unrun).detail == "the spawner is gone");
}

TEST_CASE("seccomp's signal and a limit that ended it are verdicts") {
  const Observation filtered = judge(probe("k13"), ended_with(SIGSYS));
  CHECK(filtered.verdict == Verdict::kBlocked);
  Answer limited;
  limited.ended_by = Layer::kCgroup;
  CHECK(judge(probe("r03"), limited).verdict == Verdict::kBlocked);
  CHECK(judge(probe("r03"), limited).detail == "ended by the limit, cgroup");
}

TEST_CASE("output that was cut is blocked, whatever its author says of it") {
  Answer cut = said("REACHED wrote 4 MiB of output\n");
  cut.cut = true;
  CHECK(judge(probe("r17"), cut).verdict == Verdict::kBlocked);
  CHECK(judge(probe("f01"), cut).verdict == Verdict::kReached);
}

TEST_CASE("of what is planted it counts what was fetched") {
  Answer planted = said("REACHED planted a link\n");
  CHECK(judge(probe("h01"), planted).verdict == Verdict::kBlocked);
  CHECK(judge(probe("h01"), planted).detail == "planted a link, and nothing came of it");
  planted.leaked = "a file outside was fetched";
  CHECK(judge(probe("h01"), planted).verdict == Verdict::kReached);
  CHECK(judge(probe("h01"), planted).detail == "a file outside was fetched");
  CHECK(judge(probe("h01"), said("BLOCKED EPERM could not plant it\n")).error == EPERM);
}

TEST_CASE("who says that its memory ran out is not believed") {
  Answer claimed = said("BLOCKED - its word was not taken for ours\n");
  claimed.wait_status = 137 << 8;
  CHECK(judge(probe("c10"), claimed).verdict == Verdict::kBlocked);
  claimed.ended_by = Layer::kCgroup;
  CHECK(judge(probe("c10"), claimed).verdict == Verdict::kReached);
}
