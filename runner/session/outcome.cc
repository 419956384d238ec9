#include "runner/session/outcome.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "runner/text.h"

namespace runner {
namespace {

constexpr int kExitTimeLimit = 124;
constexpr int kExitMemory = 137;
constexpr int kSignalBase = 128;

std::uint64_t count_ms(jail::Millis value) {
  return value.count() < 0 ? 0 : static_cast<std::uint64_t>(value.count());
}

LimitHit time_limit(const char* name, jail::Millis limit, jail::Millis used) {
  return {name, duration_text(limit), count_ms(limit), count_ms(used), "ms"};
}

LimitHit memory_limit(const Facts& facts, const LimitsInForce& in_force) {
  LimitHit hit{"memory", size_text(in_force.limits.memory), in_force.limits.memory.value,
               std::nullopt, "bytes"};
  if (facts.ended.peak_memory_from != jail::Enforcer::kNone)
    hit.peak = facts.ended.peak_memory.value;
  return hit;
}

void time_out(Outcome& outcome, const Facts& facts, const LimitsInForce& in_force) {
  outcome.word = Word::kTimedOut;
  outcome.exit_code = kExitTimeLimit;
  outcome.limit = time_limit("wall_time", in_force.limits.wall_time, facts.wall);
  outcome.text = "it ran for longer than the wall-clock limit of " + outcome.limit->limit;
}

void exceed_cpu(Outcome& outcome, const Facts& facts, const LimitsInForce& in_force) {
  outcome.word = Word::kCpuExceeded;
  outcome.exit_code = kExitTimeLimit;
  outcome.limit = time_limit("cpu_time", in_force.limits.cpu_time, facts.ended.cpu_time);
  outcome.text = "it used more than the CPU-time limit of " + outcome.limit->limit;
}

bool used_up_cpu(const Facts& facts, const LimitsInForce& in_force) {
  const jail::Millis limit = in_force.limits.cpu_time;
  return limit.count() > 0 && facts.ended.cpu_time >= limit;
}

void exhaust_memory(Outcome& outcome, const Facts& facts, const LimitsInForce& in_force) {
  outcome.word = Word::kOutOfMemory;
  outcome.exit_code = kExitMemory;
  outcome.limit = memory_limit(facts, in_force);
  outcome.text = "it needed more than the memory limit of " + outcome.limit->limit;
  if (outcome.limit->peak) {
    outcome.text += " (peak " + size_text(jail::Bytes{*outcome.limit->peak}) + ")";
  }
}

void interrupt(Outcome& outcome, const Facts& facts) {
  const int signal = facts.signal != 0 ? facts.signal : SIGINT;
  outcome.word = Word::kInterrupted;
  outcome.exit_code = kSignalBase + signal;
  outcome.text = "it was interrupted by " + signal_text(signal);
}

void lose_reader(Outcome& outcome) {
  outcome.word = Word::kKilled;
  outcome.exit_code = kSignalBase + SIGPIPE;
  outcome.text = "nobody reads its output any more";
}

void kill_jail(Outcome& outcome, const char* text) {
  outcome.word = Word::kKilled;
  outcome.exit_code = kSignalBase + SIGKILL;
  outcome.text = text;
}

// What we did ourselves. False: nothing.
bool decide_by_act(Outcome& outcome, const Facts& facts, const LimitsInForce& in_force) {
  switch (facts.act) {
    case Act::kNone:
      return false;
    case Act::kDeadline:
      time_out(outcome, facts, in_force);
      return true;
    case Act::kInterrupt:
      interrupt(outcome, facts);
      return true;
    case Act::kReaderGone:
      lose_reader(outcome);
      return true;
  }
  return false;
}

bool decide_by_spawner(Outcome& outcome, const Facts& facts, const LimitsInForce& in_force) {
  switch (facts.ended.cause) {
    case jail::KillCause::kNone:
      break;
    case jail::KillCause::kRequested:
      kill_jail(outcome, "its jail was killed on request");
      return true;
    case jail::KillCause::kMemory:
      exhaust_memory(outcome, facts, in_force);
      return true;
    case jail::KillCause::kCpuTime:
      exceed_cpu(outcome, facts, in_force);
      return true;
    case jail::KillCause::kWallTime:
      time_out(outcome, facts, in_force);
      return true;
  }
  if (facts.ended.exited) return false;
  if (facts.ended.oom_kills > 0) {
    exhaust_memory(outcome, facts, in_force);
  } else {
    kill_jail(outcome, "its jail was killed from outside");
    outcome.is_our_error = true;
  }
  return true;
}

void decide_by_signal(Outcome& outcome, const Facts& facts, const LimitsInForce& in_force) {
  const int signal = WTERMSIG(facts.ended.wait_status);
  outcome.signal = signal;
  if (signal == SIGXCPU) return exceed_cpu(outcome, facts, in_force);
  if (signal == SIGKILL && facts.ended.oom_kills > 0)
    return exhaust_memory(outcome, facts, in_force);
  // setrlimit(2): a process that catches SIGXCPU meets SIGKILL at the hard limit.
  if (signal == SIGKILL && used_up_cpu(facts, in_force))
    return exceed_cpu(outcome, facts, in_force);
  outcome.exit_code = kSignalBase + signal;
  if (signal == SIGXFSZ) {
    const jail::Bytes limit = in_force.limits.file_size;
    outcome.word = Word::kOutputLimit;
    outcome.limit = LimitHit{"file_size", size_text(limit), limit.value, std::nullopt, "bytes"};
    outcome.text = "it wrote a file larger than the limit of " + size_text(limit);
    return;
  }
  outcome.word = Word::kSignalled;
  outcome.text = "it was ended by " + signal_text(signal);
  if (signal == SIGSYS) outcome.text += ": a system call that the policy answers with a kill";
}

// A limit that was met while the payload ran explains its failure; its own exit code does not.
void explain_failure(Outcome& outcome, const Facts& facts, const LimitsInForce& in_force) {
  const policies::Limits& limits = in_force.limits;
  if (facts.ended.oom_kills > 0) return exhaust_memory(outcome, facts, in_force);
  if (used_up_cpu(facts, in_force)) return exceed_cpu(outcome, facts, in_force);
  if (facts.ended.process_limit_hits_known && facts.ended.process_limit_hits > 0) {
    outcome.word = Word::kProcessLimit;
    outcome.limit = LimitHit{"processes", std::to_string(limits.processes), limits.processes,
                             std::nullopt, "count"};
    outcome.text = "it met the limit of " + std::to_string(limits.processes) + " processes";
    return;
  }
  const policies::Tmpfs& workdir = in_force.workdir;
  if (facts.disk == DiskState::kNoBlocks) {
    outcome.word = Word::kDiskFull;
    outcome.limit = LimitHit{"workdir.size", size_text(workdir.size), workdir.size.value,
                             workdir.size.value, "bytes"};
    outcome.text = workdir.path + " is full: " + size_text(workdir.size);
  } else if (facts.disk == DiskState::kNoInodes) {
    outcome.word = Word::kDiskFull;
    outcome.limit = LimitHit{"workdir.inodes", std::to_string(workdir.inodes), workdir.inodes,
                             workdir.inodes, "count"};
    outcome.text = workdir.path + " is full: " + std::to_string(workdir.inodes) + " files";
  }
}

}  // namespace

const char* word_text(Word word) noexcept {
  static constexpr std::array<const char*, 15> kWords = {
      "ok",           "raised",        "exited",       "signalled",     "timed_out",
      "cpu_exceeded", "out_of_memory", "output_limit", "process_limit", "disk_full",
      "interrupted",  "killed",        "expired",      "refused",       "declined"};
  return kWords.at(static_cast<std::size_t>(word));
}

const char* ending_text(Ending ending) noexcept {
  static constexpr std::array<const char*, kEndings> kWords = {
      "ok", "failure", "refusal", "decline", "timeout", "error", "stopped"};
  return kWords.at(static_cast<std::size_t>(ending));
}

Ending ending_of(const Outcome& outcome) noexcept {
  switch (outcome.word) {
    case Word::kOk:
      return Ending::kOk;
    case Word::kExited:
      return outcome.status.value_or(0) == 0 ? Ending::kOk : Ending::kFailure;
    case Word::kRaised:
      return Ending::kFailure;
    case Word::kSignalled:  // seccomp(2): SIGSYS is how a filter kills
      return outcome.signal == SIGSYS ? Ending::kRefusal : Ending::kFailure;
    case Word::kTimedOut:
    case Word::kCpuExceeded:
      return Ending::kTimeout;
    case Word::kOutOfMemory:
    case Word::kOutputLimit:
    case Word::kProcessLimit:
    case Word::kDiskFull:
    case Word::kRefused:
      return Ending::kRefusal;
    case Word::kDeclined:
      return Ending::kDecline;
    case Word::kKilled:
      return outcome.is_our_error ? Ending::kError : Ending::kStopped;
    case Word::kInterrupted:
    case Word::kExpired:
      return Ending::kStopped;
  }
  return Ending::kError;
}

Outcome decide(const Facts& facts, const LimitsInForce& in_force) {
  Outcome outcome;
  outcome.out = facts.out;
  outcome.err = facts.err;
  outcome.usage = {facts.wall, facts.ended.cpu_time, facts.ended.peak_memory,
                   facts.ended.peak_memory_from};
  const bool exited = facts.ended.exited && WIFEXITED(facts.ended.wait_status);
  const bool signalled = facts.ended.exited && WIFSIGNALED(facts.ended.wait_status);
  if (exited) outcome.status = WEXITSTATUS(facts.ended.wait_status);
  if (signalled) outcome.signal = WTERMSIG(facts.ended.wait_status);

  if (decide_by_act(outcome, facts, in_force)) return outcome;
  if (decide_by_spawner(outcome, facts, in_force)) return outcome;
  if (signalled) {
    decide_by_signal(outcome, facts, in_force);
    return outcome;
  }
  outcome.exit_code = outcome.status.value_or(0);
  if (outcome.exit_code == 0) return outcome;
  outcome.word = Word::kExited;
  explain_failure(outcome, facts, in_force);
  return outcome;
}

std::string signal_text(int signal) {
  // sigabbrev_np(3): nullptr for realtime and unknown signals.
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

const char* enforcer_text(jail::Enforcer enforcer) noexcept {
  switch (enforcer) {
    case jail::Enforcer::kNone:
      return "nobody";
    case jail::Enforcer::kCgroupV2:
      return "cgroup v2";
    case jail::Enforcer::kCgroupV1:
      return "cgroup v1";
    case jail::Enforcer::kRlimit:
      return "rlimit and sampling";
  }
  return "nobody";
}

}  // namespace runner
