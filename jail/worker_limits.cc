#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/epoll.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

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
  // First the meter, then the mark, then the answer: when the payload goes on, the caller can know.
  look_at_meter(jail);
  if (MeterSlot* slot = meters_.slot(jail.slot))
    slot->refused.store(jail.meter_turn, std::memory_order_release);
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
  if (orphaned_ > 0) reap_strangers();
  if (orphaned_ > 0 || now >= kill_due_ || must_look(now)) look_at_all(now);
  leftovers_.erase(
      std::remove_if(leftovers_.begin(), leftovers_.end(), [](Cgroup& c) { return c.remove(); }),
      leftovers_.end());
}

// False when no jail has used the processor for so long that each has been sampled since: a
// thousand idle sessions cost one read.
bool Worker::must_look(Clock::time_point now) {
  std::optional<std::uint64_t> total;
  if (cgroups_.enforcer(Controller::kMemory) != Enforcer::kNone) total = cgroups_.cpu_of_all();
  if (!total || total != cpu_of_all_) looking_until_ = now + kSeldom + kTick;
  cpu_of_all_ = total;
  return now < looking_until_;
}

void Worker::look_at_all(Clock::time_point now) {
  // Of those that have long been idle, not all in one turn.
  int seldom_looks = 64;
  kill_due_ = Clock::time_point::max();
  for (auto& [serial, jail] : jails_) {
    if (jail.strangers_for > 0 && --jail.strangers_for == 0) --orphaned_;
    look_at_meter(jail);
    if (jail.stage != Stage::kRunning) continue;
    if (now >= jail.kill_at) {
      kill_for(jail, KillCause::kWallTime);
      continue;
    }
    kill_due_ = std::min(kill_due_, jail.kill_at);
    if (now < jail.sample_at) continue;
    if (jail.sample_every > kTick && --seldom_looks < 0)
      looking_until_ = std::max(looking_until_, now + 2 * kTick);  // its turn comes
    else
      sample(jail, now);
  }
}

// Of what the kernel does not count for us. A payload that joined is not init's child.
Sampled Worker::sampled(const JailProcess& jail) const {
  Sampled usage = sample_tree(facts_.proc, jail.pid);
  if (!jail.joining) return usage;
  const Sampled joined = sample_tree(facts_.proc, jail.joining->pid);
  usage.memory.value += joined.memory.value;
  usage.cpu_time += joined.cpu_time;
  usage.first = jail.joining->pid;
  return usage;
}

// A jail that has used no processor since the last look is looked at less and less often.
void Worker::sample(JailProcess& jail, Clock::time_point now) {
  const PlanHeader& h = jail.plan->view.header();
  const bool no_memory = cgroups_.enforcer(Controller::kMemory) == Enforcer::kNone;
  const bool no_cpu = cgroups_.enforcer(Controller::kCpu) == Enforcer::kNone;
  const std::uint64_t counted = no_cpu ? 0 : jail.cgroup.cpu_usec();
  const bool still = !no_cpu && !no_memory && counted == std::exchange(jail.cpu_seen, counted);
  Sampled usage;
  if (no_memory || no_cpu) usage = sampled(jail);
  if (no_memory) {
    usage.memory.value += tmpfs_bytes(jail, usage.first);
    jail.ended.peak_memory = std::max(jail.ended.peak_memory, usage.memory);
    if (h.memory > 0 && usage.memory.value > h.memory) return kill_for(jail, KillCause::kMemory);
  }
  // v1 kills one process of many; half a program is no program (v2 has memory.oom.group).
  // Nobody is killed without using the processor.
  if (!still && jail.cgroup.oom_kills() > jail.armed.oom_kills)
    return kill_for(jail, KillCause::kMemory);
  const Millis cpu = (no_cpu ? usage.cpu_time : Millis(static_cast<std::int64_t>(counted / 1000))) -
                     jail.armed.cpu_time;
  const bool idle = jail.joining && cpu == jail.ended.cpu_time;
  jail.sample_every = idle ? std::min(kSeldom, jail.sample_every * 2) : kTick;
  jail.sample_at = now + jail.sample_every;
  jail.ended.cpu_time = std::max(jail.ended.cpu_time, cpu);
  const Millis limit = jail.cpu_limit.value_or(Millis(static_cast<std::int64_t>(h.cpu_time_ms)));
  if (limit.count() > 0 && cpu >= limit) kill_for(jail, KillCause::kCpuTime);
}

// What lies in the jail's writable tmpfs mounts. Looked up as the payload sees them: init can't be
// looked into (it is not dumpable). One that hides its root from us still has its `size`.
std::uint64_t Worker::tmpfs_bytes(const JailProcess& jail, pid_t payload) const {
  const auto used = [](const Fd& folder) {
    struct statfs st {};
    if (!folder.valid() || ::fstatfs(folder.get(), &st) != 0 || st.f_type != TMPFS_MAGIC)
      return std::uint64_t{0};
    return (st.f_blocks - st.f_bfree) * static_cast<std::uint64_t>(st.f_bsize);
  };
  std::uint64_t sum = used(jail.workdir);
  const std::string path = std::to_string(payload) + "/root";
  const Fd root(::openat(facts_.proc, path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return sum;
  const PlanView& view = jail.plan->view;
  const std::string_view workdir = view.text(view.header().workdir);
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  for (const PlanMount& m : view.mounts()) {
    if (m.kind != MountKind::kTmpfs || m.access != Access::kReadWrite) continue;
    const char* target = view.text(m.target);
    if (workdir == target) continue;
    sum += used(
        Fd(static_cast<int>(::syscall(SYS_openat2, root.get(), target + 1, &how, sizeof(how)))));
  }
  return sum;
}

}  // namespace jail
