// The worker's side of counting what one execution of a joined payload uses: from when, and what of
// it the worker alone knows. The caller reads the rest itself (meter.h).
#include "jail/sample.h"
#include "jail/worker.h"

namespace jail {
namespace {

bool is_end_known(const JailProcess& jail) {
  return jail.ended.exited || jail.ended.cause != KillCause::kNone;
}

}  // namespace

void Worker::arm(std::uint64_t id, Millis cpu_time) {
  JailProcess* jail = find(id);
  if (jail == nullptr || !jail->joining || is_end_known(*jail)) return;
  jail->cgroup.reset_peak();
  jail->armed = jail->cgroup.stats();
  if (cgroups_.enforcer(Controller::kCpu) == Enforcer::kNone)
    jail->armed.cpu_time = sampled(*jail).cpu_time;
  begin_counted(*jail, cpu_time);
}

// From `armed` on: the limit, the next sample, and nothing of what came before.
void Worker::begin_counted(JailProcess& jail, Millis cpu_limit) {
  jail.ended = Ended{};
  jail.cpu_limit = cpu_limit;
  jail.sample_every = kTick;
  jail.sample_at = Clock::now() + kTick;
  if (jail.notify) jail.notify->forget();
}

// A payload that comes after another, until it is armed: what that one used or died of is not its
// doing, and must not be its end.
void Worker::count_anew(JailProcess& jail) {
  jail.armed = jail.cgroup.stats();
  if (cgroups_.enforcer(Controller::kCpu) == Enforcer::kNone)
    jail.armed.cpu_time = sample_tree(facts_.proc, jail.pid).cpu_time;
}

// fds: the memory. Where it can't be used, the caller gets no files, and goes on asking.
void Worker::set_meters() {
  static_assert(kMeterSlots == kBlockSize - 1);
  if (received_.fd_count != 1) return;
  if (auto memory = MeterMemory::of(std::move(received_.fds[0])); memory)
    meters_ = std::move(*memory);
}

// What the caller has armed without a word, as arm() would have. Before anything of the jail is
// counted, recorded or judged. An end that is known stays.
void Worker::look_at_meter(JailProcess& jail) {
  const MeterSlot* slot = meters_.slot(jail.slot);
  if (slot == nullptr || !jail.joining || jail.stage != Stage::kRunning) return;
  const auto armed = newly_armed(*slot, jail.serial, jail.meter_turn);
  if (!armed || is_end_known(jail)) return;
  jail.armed.cpu_time = Millis(armed->from.cpu_usec / 1000);
  jail.armed.oom_kills = armed->from.oom_kills;
  jail.armed.process_limit_hits = armed->from.process_limit_hits;
  begin_counted(jail, armed->cpu_limit);
}

void Worker::tell_usage(std::uint64_t id) {
  JailProcess* jail = find(id);
  if (jail == nullptr || jail->stage != Stage::kRunning) return;
  fill_ended(*jail);
  if (jail->notify && !jail->notify->records().empty()) send_denied(*jail);
  const EndedPacket packet{{kWireMagic, ReplyType::kUsage, id}, jail->ended};
  if (!send_struct(caller_.get(), packet)) alive_ = false;
}

}  // namespace jail
