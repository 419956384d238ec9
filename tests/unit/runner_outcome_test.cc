#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "runner/session/outcome.h"

using namespace runner;

namespace {

// wait4(2) encodings, as WIFEXITED and WIFSIGNALED read them.
int exit_status(int code) { return code << 8; }
int signal_status(int signal) { return signal; }

LimitsInForce limits() {
  LimitsInForce in_force;
  in_force.limits.memory = jail::mib(512);
  in_force.limits.cpu_time = jail::Millis{10'000};
  in_force.limits.wall_time = jail::Millis{20'000};
  in_force.limits.processes = 64;
  in_force.limits.file_size = jail::mib(30);
  in_force.workdir.path = "/mnt/data";
  in_force.workdir.size = jail::mib(256);
  in_force.workdir.inodes = 5000;
  return in_force;
}

Facts exited(int code) {
  Facts facts;
  facts.ended.exited = true;
  facts.ended.wait_status = exit_status(code);
  return facts;
}

Facts signalled(int signal) {
  Facts facts;
  facts.ended.exited = true;
  facts.ended.wait_status = signal_status(signal);
  return facts;
}

Outcome outcome_of(const Facts& facts) { return decide(facts, limits()); }

}  // namespace

TEST_CASE("exit codes are the program's own") {
  const Outcome ok = outcome_of(exited(0));
  CHECK(ok.word == Word::kOk);
  CHECK(ok.exit_code == 0);
  CHECK(ok.text.empty());
  CHECK_FALSE(ok.limit);
  CHECK_FALSE(ok.state_preserved);

  const Outcome failed = outcome_of(exited(3));
  CHECK(failed.word == Word::kExited);
  CHECK(failed.exit_code == 3);
  CHECK(failed.status == 3);
  CHECK(failed.text.empty());
  CHECK(outcome_of(exited(255)).exit_code == 255);
}

TEST_CASE("a signal is 128 + its number and has its name") {
  const Outcome outcome = outcome_of(signalled(SIGSEGV));
  CHECK(outcome.word == Word::kSignalled);
  CHECK(outcome.exit_code == 139);
  CHECK(outcome.signal == SIGSEGV);
  CHECK(outcome.text == "it was ended by SIGSEGV");
  CHECK(outcome_of(signalled(SIGKILL)).word == Word::kSignalled);  // it killed itself
  CHECK(outcome_of(signalled(SIGKILL)).exit_code == 137);
  CHECK(outcome_of(signalled(40)).text == "it was ended by signal 40");
  CHECK(outcome_of(signalled(SIGSYS)).text.find("policy") != std::string::npos);
}

TEST_CASE("the deadline outranks everything that follows from it") {
  for (Facts facts : {exited(0), exited(1), signalled(SIGINT), signalled(SIGKILL)}) {
    facts.act = Act::kDeadline;
    facts.wall = jail::Millis{20'450};
    facts.ended.oom_kills = 1;
    facts.ended.cause = jail::KillCause::kRequested;
    const Outcome outcome = outcome_of(facts);
    CHECK(outcome.word == Word::kTimedOut);
    CHECK(outcome.exit_code == 124);
    REQUIRE(outcome.limit);
    CHECK(outcome.limit->name == "wall_time");
    CHECK(outcome.limit->limit == "20s");
    CHECK(outcome.limit->peak == 20'450U);
  }
}

TEST_CASE("an interrupt says by what, and exits like a program that died of it") {
  Facts facts = exited(0);
  facts.act = Act::kInterrupt;
  facts.signal = SIGTERM;
  CHECK(outcome_of(facts).word == Word::kInterrupted);
  CHECK(outcome_of(facts).exit_code == 143);
  facts.signal = SIGINT;
  CHECK(outcome_of(facts).exit_code == 130);
}

TEST_CASE("nobody reads our output: killed, 141") {
  Facts facts;
  facts.ended.cause = jail::KillCause::kRequested;
  facts.act = Act::kReaderGone;
  CHECK(outcome_of(facts).word == Word::kKilled);
  CHECK(outcome_of(facts).exit_code == 141);
}

TEST_CASE("what the spawner killed for comes before the signal it killed with") {
  Facts facts = signalled(SIGKILL);
  facts.ended.cause = jail::KillCause::kMemory;
  facts.ended.peak_memory = jail::mib(513);
  facts.ended.peak_memory_from = jail::Enforcer::kRlimit;
  const Outcome memory = outcome_of(facts);
  CHECK(memory.word == Word::kOutOfMemory);
  CHECK(memory.exit_code == 137);
  CHECK(memory.limit->peak == jail::mib(513).value);
  CHECK(memory.text == "it needed more than the memory limit of 512M (peak 513M)");

  facts.ended.cause = jail::KillCause::kCpuTime;
  CHECK(outcome_of(facts).word == Word::kCpuExceeded);
  CHECK(outcome_of(facts).exit_code == 124);

  facts.ended.cause = jail::KillCause::kWallTime;
  CHECK(outcome_of(facts).word == Word::kTimedOut);
  CHECK(outcome_of(facts).limit->name == "wall_time");
  CHECK(outcome_of(facts).exit_code == 124);
}

TEST_CASE("a jail that went away under the payload") {
  Facts facts;
  CHECK(outcome_of(facts).word == Word::kKilled);
  CHECK(outcome_of(facts).exit_code == 137);
  facts.ended.oom_kills = 1;
  CHECK(outcome_of(facts).word == Word::kOutOfMemory);
}

TEST_CASE("the kernel's signals for limits") {
  const Outcome cpu = outcome_of(signalled(SIGXCPU));
  CHECK(cpu.word == Word::kCpuExceeded);
  CHECK(cpu.exit_code == 124);
  CHECK(cpu.limit->name == "cpu_time");

  Facts hard = signalled(SIGKILL);
  hard.ended.cpu_time = jail::Millis{10'900};
  CHECK(outcome_of(hard).word == Word::kCpuExceeded);

  Facts oom = signalled(SIGKILL);
  oom.ended.oom_kills = 2;
  CHECK(outcome_of(oom).word == Word::kOutOfMemory);
  CHECK(outcome_of(oom).exit_code == 137);

  const Outcome file = outcome_of(signalled(SIGXFSZ));
  CHECK(file.word == Word::kOutputLimit);
  CHECK(file.exit_code == 128 + SIGXFSZ);
  CHECK(file.limit->name == "file_size");
}

TEST_CASE("limits explain a failure, never a success") {
  Facts facts = exited(1);
  facts.ended.process_limit_hits = 4;
  CHECK(outcome_of(facts).word == Word::kExited);  // not known: not evidence
  facts.ended.process_limit_hits_known = true;
  CHECK(outcome_of(facts).word == Word::kProcessLimit);
  CHECK(outcome_of(facts).exit_code == 1);
  facts.ended.wait_status = exit_status(0);
  CHECK(outcome_of(facts).word == Word::kOk);

  Facts disk = exited(1);
  disk.disk = DiskState::kNoBlocks;
  CHECK(outcome_of(disk).word == Word::kDiskFull);
  CHECK(outcome_of(disk).limit->name == "workdir.size");
  disk.disk = DiskState::kNoInodes;
  CHECK(outcome_of(disk).limit->name == "workdir.inodes");
  disk.ended.wait_status = exit_status(0);
  CHECK(outcome_of(disk).word == Word::kOk);

  Facts child_oom = exited(1);
  child_oom.ended.oom_kills = 1;
  CHECK(outcome_of(child_oom).word == Word::kOutOfMemory);
  Facts child_cpu = exited(152);
  child_cpu.ended.cpu_time = jail::Millis{10'000};
  CHECK(outcome_of(child_cpu).word == Word::kCpuExceeded);
}

TEST_CASE("a full output cap does not change the word") {
  Facts facts = exited(0);
  facts.out = {5'000'000, true};
  const Outcome outcome = outcome_of(facts);
  CHECK(outcome.word == Word::kOk);
  CHECK(outcome.out.truncated);
}

TEST_CASE("each word comes to one of a few endings") {
  const auto ending = [](Word word) {
    Outcome outcome;
    outcome.word = word;
    return std::string(ending_text(ending_of(outcome)));
  };
  CHECK(ending(Word::kOk) == "ok");
  CHECK(ending(Word::kRaised) == "failure");
  CHECK(ending(Word::kSignalled) == "failure");
  CHECK(ending(Word::kTimedOut) == "timeout");
  CHECK(ending(Word::kCpuExceeded) == "timeout");
  for (const Word word : {Word::kOutOfMemory, Word::kOutputLimit, Word::kProcessLimit,
                          Word::kDiskFull, Word::kRefused})
    CHECK(ending(word) == "refusal");
  CHECK(ending(Word::kDeclined) == "decline");
  for (const Word word : {Word::kInterrupted, Word::kKilled, Word::kExpired})
    CHECK(ending(word) == "stopped");
  Outcome outcome;
  outcome.word = Word::kExited;
  CHECK(ending_of(outcome) == Ending::kOk);
  outcome.status = 3;
  CHECK(ending_of(outcome) == Ending::kFailure);
  outcome.word = Word::kSignalled;
  outcome.signal = SIGSYS;
  CHECK(ending_of(outcome) == Ending::kRefusal);
  outcome.word = Word::kKilled;
  outcome.is_our_error = true;
  CHECK(ending_of(outcome) == Ending::kError);
}
