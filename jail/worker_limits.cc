#include <sys/epoll.h>
#include <sys/statfs.h>

#include <algorithm>

#include "jail/sample.h"
#include "jail/worker.h"

namespace jail {

void Worker::serve_listener(JailProcess& jail, std::uint32_t events) {
  if (!jail.notify || !jail.listening) return;
  if ((events & EPOLLIN) == 0) {
    // EPOLLHUP: the last process under the filter is gone, and would be so for ever.
    unwatch(jail.notify->listener().get());
    jail.listening = false;
    return;
  }
  jail.notify->serve();
  if (jail.notify->resume_at() <= Clock::now()) return;
  unwatch(jail.notify->listener().get());
  jail.listening = false;
  throttled_.push_back(jail.serial);
}

void Worker::resume_listeners(Clock::time_point now) {
  for (std::size_t i = 0; i < throttled_.size();) {
    const auto it = jails_.find(throttled_[i]);
    if (it != jails_.end() && it->second.notify->resume_at() > now) {
      ++i;
      continue;
    }
    if (it != jails_.end()) {
      it->second.listening = true;
      watch(it->second.notify->listener().get(), Source::kListener, it->first);
    }
    throttled_[i] = throttled_.back();
    throttled_.pop_back();
  }
}

void Worker::tick(Clock::time_point now) {
  next_tick_ = now + kTick;
  for (auto& [serial, jail] : jails_)
    if (jail.stage == Stage::kRunning) sample(jail);
  leftovers_.erase(
      std::remove_if(leftovers_.begin(), leftovers_.end(), [](Cgroup& c) { return c.remove(); }),
      leftovers_.end());
}

void Worker::sample(JailProcess& jail) {
  const PlanHeader& h = jail.plan->view.header();
  const bool no_memory = cgroups_.enforcer(Controller::kMemory) == Enforcer::kNone;
  const bool no_cpu = cgroups_.enforcer(Controller::kCpu) == Enforcer::kNone;
  const CgroupStats stats = jail.cgroup.stats();
  Usage usage;
  if (no_memory || no_cpu) usage = sample_tree(facts_.proc, jail.pid);
  if (no_memory) {
    usage.memory.value += workdir_bytes(jail);
    jail.ended.peak_memory = std::max(jail.ended.peak_memory, usage.memory);
    if (h.memory > 0 && usage.memory.value > h.memory) return kill_for(jail, KillCause::kMemory);
  }
  // v1 kills one process of many; half a program is no program (v2 has memory.oom.group).
  if (stats.oom_kills > 0) return kill_for(jail, KillCause::kMemory);
  const Millis cpu = no_cpu ? usage.cpu_time : stats.cpu_time;
  jail.ended.cpu_time = std::max(jail.ended.cpu_time, cpu);
  if (h.cpu_time_ms > 0 && cpu.count() >= static_cast<std::int64_t>(h.cpu_time_ms))
    kill_for(jail, KillCause::kCpuTime);
}

std::uint64_t Worker::workdir_bytes(const JailProcess& jail) {
  struct statfs st {};
  if (::fstatfs(jail.workdir.get(), &st) != 0) return 0;
  return (st.f_blocks - st.f_bfree) * static_cast<std::uint64_t>(st.f_bsize);
}

}  // namespace jail
