#include "runner/reach/evidence.h"

#include <sys/wait.h>

#include <csignal>

namespace runner::reach {
namespace {

Layer of(jail::Enforcer enforcer) {
  switch (enforcer) {
    case jail::Enforcer::kCgroupV2:
    case jail::Enforcer::kCgroupV1:
      return Layer::kCgroup;
    case jail::Enforcer::kRlimit:
      return Layer::kRlimit;
    case jail::Enforcer::kNone:
      break;
  }
  return Layer::kSupervisor;
}

std::optional<Layer> ended_by(const jail::Ended& ended, const jail::Hello& hello) {
  if (ended.oom_kills > 0) return Layer::kCgroup;
  switch (ended.cause) {
    case jail::KillCause::kMemory:
      return of(hello.memory);
    case jail::KillCause::kCpuTime:
      return of(hello.cpu_time);
    case jail::KillCause::kWallTime:
      return Layer::kSupervisor;
    case jail::KillCause::kRequested:
    case jail::KillCause::kNone:
      break;
  }
  if (!ended.exited || !WIFSIGNALED(ended.wait_status)) return std::nullopt;
  const int signal = WTERMSIG(ended.wait_status);
  if (signal == SIGXCPU || signal == SIGXFSZ) return Layer::kRlimit;
  return std::nullopt;
}

}  // namespace

Answer answer_from(const jail::Ended& ended, const jail::Hello& hello) {
  Answer answer;
  answer.exited = ended.exited;
  answer.wait_status = ended.wait_status;
  answer.ended_by = ended_by(ended, hello);
  const bool killed = ended.exited && WIFSIGNALED(ended.wait_status);
  const bool by_filter = killed && WTERMSIG(ended.wait_status) == SIGSYS;
  if (ended.denied_total > 0 || by_filter) answer.refused_by.push_back(Layer::kSeccomp);
  if (ended.process_limit_hits > 0) answer.refused_by.push_back(of(hello.processes));
  return answer;
}

}  // namespace runner::reach
