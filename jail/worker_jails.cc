#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "jail/worker.h"

namespace jail {

Result<JailProcess*> Worker::make(const std::shared_ptr<LoadedPlan>& plan) {
  if (free_slots_.empty()) return fail(Step::kSlots, EAGAIN);
  const std::uint64_t serial = ++last_serial_;
  auto jail = make_jail(plan, serial, free_slots_.back(), cgroups_, facts_, reserved_, networks_);
  if (!jail) return tl::unexpected(jail.error());
  free_slots_.pop_back();
  JailProcess& stored = jails_.emplace(serial, std::move(*jail)).first->second;
  watch(stored.control.get(), Source::kControl, serial);
  watch(stored.pidfd.get(), Source::kExit, serial);
  return &stored;
}

// In the background: after the requests of this turn, one jail a turn, so that a launch never
// waits behind a whole pool.
void Worker::refill(Clock::time_point now) {
  refill_due_ = refill_waits_ = false;
  for (auto& [inode, plan] : plans_) {
    if (plan->broken) continue;
    const LoadedPlan* wanted = plan.get();  // clang 14 captures no structured binding
    const auto pooled = static_cast<std::uint32_t>(
        std::count_if(jails_.begin(), jails_.end(), [wanted](const auto& entry) {
          const JailProcess& j = entry.second;
          return j.plan.get() == wanted && !j.launch && j.stage != Stage::kDying;
        }));
    if (pooled >= plan->pool_target) continue;
    if (now < quiet_until_ && pooled * 2 >= plan->pool_target) {
      refill_waits_ = true;
      continue;
    }
    if (const auto made = make(plan); !made) plan->broken = made.error();
    refill_due_ = true;  // there may be more: look again without waiting
    return;
  }
}

// kProtocol/EAGAIN: nothing waits. Any other error: init is gone, or says what we do not
// understand.
Result<InitReport> Worker::next_report(JailProcess& jail) {
  InitReport report;
  const auto r =
      receive_packet(jail.control.get(), std::as_writable_bytes(std::span(&report, 1)), received_);
  if (!r) return tl::unexpected(r.error());
  if (received_.size != sizeof(report) || report.magic != kWireMagic)
    return fail(Step::kProtocol, EBADMSG);
  return report;
}

void Worker::serve_init(JailProcess& jail) {
  const auto next = next_report(jail);
  if (!next && next.error().error == EAGAIN) return;
  jail.let_go_of_init();
  if (!next) {
    // The end of file would be news for ever, and an init takes milliseconds to die: its
    // namespaces go first. bury() reads what is left.
    unwatch(jail.control.get());
    return end(jail);
  }
  const InitReport& report = *next;
  switch (report.type) {
    case ReportType::kReady:
      if (received_.fd_count > 0) jail.workdir = std::move(received_.fds[0]);
      if (jail.plan->view.header().start == Start::kJoin) {
        for (std::size_t i = 0; i < kNamespaces; ++i)
          jail.namespaces[i] = std::move(received_.fds[i + 1]);
        if (received_.fd_count > kNamespaces + 1)
          jail.landlock = std::move(received_.fds[kNamespaces + 1]);
      } else if (received_.fd_count > 1) {
        listen(jail, std::move(received_.fds[1]));
      }
      // Not one that was told to die meanwhile.
      if (jail.stage == Stage::kMaking) jail.stage = jail.launch ? Stage::kStarting : Stage::kReady;
      if (jail.stage == Stage::kStarting && jail.joining) send_order(jail);
      break;
    case ReportType::kError:
      jail.error = report.error;
      end(jail);
      break;
    case ReportType::kStarted:
      started(jail);
      break;
    case ReportType::kSwept:
      swept(jail);
      break;
    case ReportType::kExited:
      exited(jail, report);
      // All of the payload is dead and reaped. What is left, the namespaces' own end, takes the
      // kernel milliseconds (it waits for RCU) and is nothing the caller needs to wait for.
      report_end(jail);
      break;
  }
}

void Worker::listen(JailProcess& jail, Fd listener) {
  const bool first_exec =
      jail.plan->view.header().exec_once != 0 && (!jail.joining || jail.joining->command.valid());
  const auto first = first_exec ? Notify::FirstExec::kAllowed : Notify::FirstExec::kDenied;
  jail.notify = std::make_unique<Notify>(std::move(listener), first);
  jail.listening = true;
  watch(jail.notify->listener().get(), Source::kListener, jail.serial);
}

void Worker::started(JailProcess& jail) {
  jail.stage = Stage::kRunning;
  ++running_;
  if (running_ == 1) next_tick_ = Clock::now() + kTick;
  if (jail.kill_after.count() > 0) jail.kill_at = Clock::now() + jail.kill_after;
  kill_due_ = std::min(kill_due_, jail.kill_at);
  jail.launched_sent = true;
  LaunchedPacket packet;
  packet.head = {kWireMagic, ReplyType::kLaunched, *jail.launch};
  std::array<int, 2 + MeterFiles::kCount> fds{jail.pidfd.get(), jail.workdir.get()};
  std::size_t count = 2;
  MeterFiles meter;
  if (const MeterSlot* slot = meters_.slot(jail.slot); slot != nullptr && jail.joining) {
    meter = jail.cgroup.meter_files();
    jail.meter_turn = slot->turn.load(std::memory_order_acquire);
  }
  const bool all = std::all_of(meter.files.begin(), meter.files.end(),
                               [](const Fd& file) { return file.valid(); });
  packet.slot = jail.slot;
  packet.serial = jail.serial;
  packet.is_v2 = meter.is_v2 ? 1 : 0;
  if (all)
    for (const Fd& file : meter.files) fds[count++] = file.get();
  if (!send_struct(caller_.get(), packet, std::span(fds).first(count))) alive_ = false;
}

void Worker::exited(JailProcess& jail, const InitReport& report) {
  jail.ended.exited = true;
  jail.ended.wait_status = report.wait_status;
  jail.ended.cpu_time = Millis(report.cpu_ms);
  if (cgroups_.enforcer(Controller::kMemory) == Enforcer::kNone)
    jail.ended.peak_memory = std::max(jail.ended.peak_memory, kib(report.max_rss_kib));
}

// Closing the lifeline ends init, and with it all of the jail; the signal makes it sure.
void Worker::end(JailProcess& jail) {
  if (jail.stage == Stage::kRunning) --running_;
  if (jail.stage != Stage::kDying && jail.joining && jail.joining->pid < 0) ++orphaned_;
  jail.stage = Stage::kDying;
  ::syscall(SYS_pidfd_send_signal, jail.pidfd.get(), SIGKILL, nullptr, 0);
  // Whoever lets go of a namespace last takes it down, which waits for RCU. Not the one thread that
  // all jails wait for: init is still there, and does it while it dies.
  for (Fd& entrance : jail.namespaces) entrance.reset();
}

// The first cause is the cause.
void Worker::kill_for(JailProcess& jail, KillCause cause) {
  look_at_meter(jail);
  if (jail.stage == Stage::kDying || jail.stage == Stage::kParked) return;
  if (!jail.ended.exited && jail.ended.cause == KillCause::kNone) jail.ended.cause = cause;
  // A jail that is kept outlives its payload; the rest follows from the payload's end.
  if (jail.joining && jail.stage == Stage::kRunning)
    ::syscall(SYS_pidfd_send_signal, jail.joining->pidfd.get(), SIGKILL, nullptr, 0);
  else
    end(jail);
}

// Init is dead, so everything of the jail is. Count, report, remove.
void Worker::bury(JailProcess& jail) {
  // What init said before it died may still be in the socket: the exit status, an error.
  while (jail.control.valid() && drain(jail)) {
  }
  if (jail.stage == Stage::kRunning) --running_;
  if (jail.joining && jail.joining->pid > 0 && !jail.joining->reaped)
    ::waitpid(jail.joining->pid, nullptr, 0);
  if (jail.stage == Stage::kDying && jail.joining && jail.joining->pid < 0) --orphaned_;
  if (jail.strangers_for > 0) --orphaned_;
  siginfo_t info{};
  ::waitid(P_PIDFD, static_cast<id_t>(jail.pidfd.get()), &info, WEXITED);
  // One that was killed from outside may well be made again.
  const bool gave_up = jail.stage == Stage::kMaking && info.si_code == CLD_EXITED;
  if (jail.launch)
    report_end(jail);
  else if (jail.error || gave_up)
    jail.plan->broken = jail.error.value_or(SetupError{Step::kReport, 0, EPIPE});
  throttled_.erase(std::remove(throttled_.begin(), throttled_.end(), jail.serial),
                   throttled_.end());
  if (!jail.cgroup.remove()) leftovers_.push_back(std::move(jail.cgroup));
  networks_.give_back(std::move(jail.network));
  free_slots_.push_back(jail.slot);
  if (jail.launch) launches_.erase(*jail.launch);
  jails_.erase(jail.serial);
}

bool Worker::drain(JailProcess& jail) {
  const auto report = next_report(jail);
  if (!report) return false;
  if (report->type == ReportType::kExited) exited(jail, *report);
  if (report->type == ReportType::kError) jail.error = report->error;
  if (report->type == ReportType::kStarted) started(jail);
  return true;
}

void Worker::report_end(JailProcess& jail) {
  if (jail.end_reported) return;
  jail.end_reported = true;
  if (!jail.launched_sent) {
    const SetupError lost{Step::kReport, 1, EPIPE};
    // Killed on request while it was being made: that is an end like any other, and no error.
    const bool wanted = jail.ended.cause != KillCause::kNone && !jail.error;
    reply_launched(*jail.launch, wanted ? SetupError{} : jail.error.value_or(lost));
    if (!wanted) return;
  }
  fill_ended(jail);
  if (jail.notify && !jail.notify->records().empty()) send_denied(jail);
  EndedPacket packet{{kWireMagic, ReplyType::kEnded, *jail.launch}, jail.ended};
  if (!send_struct(caller_.get(), packet)) alive_ = false;
}

void Worker::fill_ended(JailProcess& jail) {
  look_at_meter(jail);
  Ended& e = jail.ended;
  e.id = *jail.launch;
  CgroupStats stats = jail.cgroup.stats();
  stats.cpu_time -= jail.armed.cpu_time;
  e.oom_kills = stats.oom_kills - jail.armed.oom_kills;
  e.process_limit_hits = stats.process_limit_hits - jail.armed.process_limit_hits;
  e.process_limit_hits_known = cgroups_.enforcer(Controller::kPids) != Enforcer::kNone;
  e.peak_memory = std::max(e.peak_memory, stats.peak_memory);
  const Enforcer memory = cgroups_.enforcer(Controller::kMemory);
  e.peak_memory_from = memory == Enforcer::kNone ? Enforcer::kRlimit : memory;
  e.cpu_time = std::max(e.cpu_time, stats.cpu_time);
  if (!jail.notify) return;
  e.denied_total = jail.notify->total();
  e.denied_throttled = jail.notify->throttled();
}

void Worker::send_denied(const JailProcess& jail) {
  auto packet = std::make_unique<DeniedPacket>();
  packet->head = {kWireMagic, ReplyType::kDenied, *jail.launch};
  const auto& records = jail.notify->records();
  packet->count = static_cast<std::uint32_t>(records.size());
  std::copy(records.begin(), records.end(), packet->records.begin());
  if (!send_struct(caller_.get(), *packet)) alive_ = false;
}

}  // namespace jail
