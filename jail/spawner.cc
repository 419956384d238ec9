#include "jail/spawner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jail/sample.h"
#include "jail/wire.h"

namespace jail {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick{50};

enum class Source : std::uint32_t { kCaller, kKeeper, kControl, kExit, kListener };

std::uint64_t tag(Source source, std::uint64_t serial) {
  return serial << 3U | static_cast<std::uint64_t>(source);
}

class Worker {
 public:
  Worker(Fd caller, Fd keeper, const Hello& hello, const Cgroups& cgroups, const WorkerFacts& facts)
      : caller_(std::move(caller)),
        keeper_(std::move(keeper)),
        hello_(hello),
        cgroups_(cgroups),
        facts_(facts),
        free_slots_(hello.slots) {
    for (std::uint32_t i = 0; i < hello.slots; ++i) free_slots_[i] = hello.slots - 1 - i;
  }

  int run() {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_.valid()) return 1;
    watch(caller_.get(), Source::kCaller, 0);
    watch(keeper_.get(), Source::kKeeper, 0);
    HelloPacket packet{{kWireMagic, ReplyType::kHello, 0}, hello_};
    if (!send_struct(caller_.get(), packet)) return 1;
    while (alive_) turn();
    end_all();
    return 0;
  }

 private:
  // ---- the loop

  void turn() {
    std::array<epoll_event, 64> events;
    const int n = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout());
    for (int i = 0; i < n && alive_; ++i)
      handle(events[static_cast<std::size_t>(i)].data.u64, events[static_cast<std::size_t>(i)].events);
    const Clock::time_point now = Clock::now();
    resume_listeners(now);
    if (now >= next_tick_) tick(now);
    refill();
  }

  // Milliseconds until something is due: a sample of running jails, or a throttled listener.
  int timeout() const {
    if (refill_due_) return 0;
    Clock::time_point due = Clock::time_point::max();
    if (running_ > 0 || !leftovers_.empty()) due = next_tick_;
    for (const std::uint64_t serial : throttled_) {
      const auto it = jails_.find(serial);
      if (it != jails_.end()) due = std::min(due, it->second.notify->resume_at());
    }
    if (due == Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000));
  }

  void handle(std::uint64_t data, std::uint32_t events) {
    const auto source = static_cast<Source>(data & 7U);
    if (source == Source::kCaller) return serve_caller();
    if (source == Source::kKeeper) {
      alive_ = false;
      return;
    }
    const auto it = jails_.find(data >> 3U);
    if (it == jails_.end()) return;
    if (source == Source::kControl) serve_init(it->second);
    if (source == Source::kListener) serve_listener(it->second, events);
    if (source == Source::kExit) bury(it->second);
  }

  void watch(int fd, Source source, std::uint64_t serial) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = tag(source, serial);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  void unwatch(int fd) { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  // ---- the caller

  void serve_caller() {
    Request request;
    const auto r =
        receive_packet(caller_.get(), std::as_writable_bytes(std::span(&request, 1)), received_);
    if (!r && r.error().error == EAGAIN) return;
    // A caller that breaks the protocol is a caller we no longer understand: end with it.
    if (!r || received_.size != sizeof(request) || request.magic != kWireMagic) {
      alive_ = false;
      return;
    }
    if (request.type == RequestType::kLaunch) launch(request);
    if (request.type == RequestType::kPool) set_pool(request);
    if (request.type == RequestType::kInterrupt) interrupt(request.id);
    if (request.type == RequestType::kKill) kill_launch(request.id);
    for (std::size_t i = 0; i < received_.fd_count; ++i) received_.fds[i].reset();
  }

  void reply_launched(std::uint64_t id, const SetupError& error, std::span<const int> fds) {
    LaunchedPacket packet{{kWireMagic, ReplyType::kLaunched, id}, error};
    if (!send_struct(caller_.get(), packet, fds)) alive_ = false;
  }

  Result<std::shared_ptr<LoadedPlan>> load(Fd file) {
    struct stat st {};
    if (::fstat(file.get(), &st) != 0) return fail(Step::kPlan, errno);
    const auto known = plans_.find(st.st_ino);
    if (known != plans_.end() && known->second->device == st.st_dev) return known->second;
    auto mapping = Mapping::of(file, Mapping::Mode::kShared, kMaxPlanBytes);
    if (!mapping) return tl::unexpected(mapping.error());
    const auto view = PlanView::read(mapping->bytes());
    if (!view) return tl::unexpected(view.error());
    auto plan = std::make_shared<LoadedPlan>();
    plan->file = std::move(file);
    plan->mapping = std::move(*mapping);
    plan->view = *view;
    plan->inode = st.st_ino;
    plan->device = st.st_dev;
    return plan;
  }

  void set_pool(const Request& request) {
    if (received_.fd_count != 1) return;
    auto plan = load(std::move(received_.fds[0]));
    if (!plan) return;
    (*plan)->pool_target = std::min(request.number, hello_.slots);
    (*plan)->broken.reset();
    plans_[(*plan)->inode] = *plan;
    if (request.number > 0) return;
    plans_.erase((*plan)->inode);
    for (auto& [serial, jail] : jails_)
      if (jail.plan == *plan && !jail.launch) end(jail);
  }

  // fds: plan, command, stdin, stdout, stderr, inputs...
  void launch(const Request& request) {
    if (received_.fd_count < 5)
      return reply_launched(request.id, SetupError{Step::kProtocol, 0, EBADMSG}, {});
    auto plan = load(std::move(received_.fds[0]));
    if (!plan) return reply_launched(request.id, plan.error(), {});
    JailProcess* jail = take_pooled(*plan);
    if (jail == nullptr) {
      const auto made = make(*plan);
      if (!made) return reply_launched(request.id, made.error(), {});
      jail = *made;
    }
    jail->launch = request.id;
    if (jail->stage == Stage::kReady) jail->stage = Stage::kStarting;
    std::array<int, kMaxFds> fds{};
    for (std::size_t i = 1; i < received_.fd_count; ++i) fds[i - 1] = received_.fds[i].get();
    InitOrder order;
    order.type = OrderType::kStart;
    // Queued in the socket pair: a jail still being made reads it when it is done.
    if (const auto sent = send_struct(jail->control.get(), order,
                                      std::span(fds.data(), received_.fd_count - 1));
        !sent)
      end(*jail);
  }

  JailProcess* take_pooled(const std::shared_ptr<LoadedPlan>& plan) {
    JailProcess* making = nullptr;
    for (auto& [serial, jail] : jails_) {
      if (jail.plan != plan || jail.launch) continue;
      if (jail.stage == Stage::kReady) return &jail;
      if (jail.stage == Stage::kMaking) making = &jail;
    }
    return making;
  }

  void interrupt(std::uint64_t id) {
    JailProcess* jail = find(id);
    if (jail == nullptr || jail->stage != Stage::kRunning) return;
    InitOrder order;
    order.type = OrderType::kSignal;
    order.number = SIGINT;
    (void)send_struct(jail->control.get(), order);
  }

  void kill_launch(std::uint64_t id) {
    if (JailProcess* jail = find(id)) kill_for(*jail, KillCause::kRequested);
  }

  JailProcess* find(std::uint64_t id) {
    for (auto& [serial, jail] : jails_)
      if (jail.launch == id) return &jail;
    return nullptr;
  }

  // ---- jails

  Result<JailProcess*> make(const std::shared_ptr<LoadedPlan>& plan) {
    if (free_slots_.empty()) return fail(Step::kSlots, EAGAIN);
    const std::uint64_t serial = ++last_serial_;
    auto jail = make_jail(plan, serial, free_slots_.back(), cgroups_, facts_);
    if (!jail) return tl::unexpected(jail.error());
    free_slots_.pop_back();
    JailProcess& stored = jails_.emplace(serial, std::move(*jail)).first->second;
    watch(stored.control.get(), Source::kControl, serial);
    watch(stored.pidfd.get(), Source::kExit, serial);
    return &stored;
  }

  // In the background: after the requests of this turn, one jail a turn, so that a launch never
  // waits behind a whole pool.
  void refill() {
    refill_due_ = false;
    for (auto& [inode, plan] : plans_) {
      if (plan->broken) continue;
      const auto pooled = static_cast<std::uint32_t>(std::count_if(
          jails_.begin(), jails_.end(), [&](const auto& entry) {
            const JailProcess& j = entry.second;
            return j.plan == plan && !j.launch && j.stage != Stage::kDying;
          }));
      if (pooled >= plan->pool_target) continue;
      if (const auto made = make(plan); !made) plan->broken = made.error();
      refill_due_ = true;  // there may be more: look again without waiting
      return;
    }
  }

  void serve_init(JailProcess& jail) {
    InitReport report;
    const auto r = receive_packet(jail.control.get(),
                                  std::as_writable_bytes(std::span(&report, 1)), received_);
    if (!r && r.error().error == EAGAIN) return;
    if (!r || received_.size != sizeof(report) || report.magic != kWireMagic) return end(jail);
    switch (report.type) {
      case ReportType::kReady:
        if (received_.fd_count == 1) jail.workdir = std::move(received_.fds[0]);
        jail.stage = jail.launch ? Stage::kStarting : Stage::kReady;
        break;
      case ReportType::kError:
        jail.error = report.error;
        end(jail);
        break;
      case ReportType::kListener:
        if (received_.fd_count == 1) listen(jail, std::move(received_.fds[0]));
        break;
      case ReportType::kStarted:
        started(jail);
        break;
      case ReportType::kExited:
        exited(jail, report);
        // All of the payload is dead and reaped. What is left, the namespaces' own end, takes the
        // kernel milliseconds (it waits for RCU) and is nothing the caller needs to wait for.
        report_end(jail);
        break;
    }
  }

  void listen(JailProcess& jail, Fd listener) {
    const auto first = jail.plan->view.header().exec_once != 0 ? Notify::FirstExec::kAllowed
                                                               : Notify::FirstExec::kDenied;
    jail.notify = std::make_unique<Notify>(std::move(listener), first);
    jail.listening = true;
    watch(jail.notify->listener().get(), Source::kListener, jail.serial);
  }

  void started(JailProcess& jail) {
    jail.stage = Stage::kRunning;
    ++running_;
    if (running_ == 1) next_tick_ = Clock::now() + kTick;
    jail.launched_sent = true;
    const std::array<int, 2> fds{jail.pidfd.get(), jail.workdir.get()};
    reply_launched(*jail.launch, {}, fds);
  }

  void exited(JailProcess& jail, const InitReport& report) {
    jail.ended.exited = true;
    jail.ended.wait_status = report.wait_status;
    jail.ended.cpu_time = Millis(report.cpu_ms);
    if (cgroups_.enforcer(Controller::kMemory) == Enforcer::kNone)
      jail.ended.peak_memory = std::max(jail.ended.peak_memory, kib(report.max_rss_kib));
  }

  // Closing the lifeline ends init, and with it all of the jail; the signal makes it sure.
  void end(JailProcess& jail) {
    if (jail.stage == Stage::kRunning) --running_;
    jail.stage = Stage::kDying;
    ::syscall(SYS_pidfd_send_signal, jail.pidfd.get(), SIGKILL, nullptr, 0);
  }

  // The first cause is the cause.
  void kill_for(JailProcess& jail, KillCause cause) {
    if (jail.stage == Stage::kDying) return;
    if (!jail.ended.exited && jail.ended.cause == KillCause::kNone) jail.ended.cause = cause;
    end(jail);
  }

  // Init is dead, so everything of the jail is. Count, report, remove.
  void bury(JailProcess& jail) {
    // What init said before it died may still be in the socket: the exit status, an error.
    while (jail.control.valid() && drain(jail)) {
    }
    if (jail.stage == Stage::kRunning) --running_;
    ::waitid(P_PIDFD, static_cast<id_t>(jail.pidfd.get()), nullptr, WEXITED);
    if (jail.launch)
      report_end(jail);
    else if (jail.error || jail.stage == Stage::kMaking)
      jail.plan->broken = jail.error.value_or(SetupError{Step::kReport, 0, EPIPE});
    throttled_.erase(std::remove(throttled_.begin(), throttled_.end(), jail.serial),
                     throttled_.end());
    if (!jail.cgroup.remove()) leftovers_.push_back(std::move(jail.cgroup));
    free_slots_.push_back(jail.slot);
    jails_.erase(jail.serial);
  }

  bool drain(JailProcess& jail) {
    InitReport report;
    const auto r = receive_packet(jail.control.get(),
                                  std::as_writable_bytes(std::span(&report, 1)), received_);
    if (!r || received_.size != sizeof(report)) return false;
    if (report.type == ReportType::kExited) exited(jail, report);
    if (report.type == ReportType::kError) jail.error = report.error;
    if (report.type == ReportType::kStarted) started(jail);
    return true;
  }

  void report_end(JailProcess& jail) {
    if (jail.end_reported) return;
    jail.end_reported = true;
    if (!jail.launched_sent) {
      const SetupError lost{Step::kReport, 1, EPIPE};
      return reply_launched(*jail.launch, jail.error.value_or(lost), {});
    }
    fill_ended(jail);
    if (jail.notify && !jail.notify->records().empty()) send_denied(jail);
    EndedPacket packet{{kWireMagic, ReplyType::kEnded, *jail.launch}, jail.ended};
    if (!send_struct(caller_.get(), packet)) alive_ = false;
  }

  void fill_ended(JailProcess& jail) {
    Ended& e = jail.ended;
    e.id = *jail.launch;
    const CgroupStats stats = jail.cgroup.stats();
    e.oom_kills = stats.oom_kills;
    e.process_limit_hits = stats.process_limit_hits;
    e.process_limit_hits_known = cgroups_.enforcer(Controller::kPids) != Enforcer::kNone;
    e.peak_memory = std::max(e.peak_memory, stats.peak_memory);
    const Enforcer memory = cgroups_.enforcer(Controller::kMemory);
    e.peak_memory_from = memory == Enforcer::kNone ? Enforcer::kRlimit : memory;
    e.cpu_time = std::max(e.cpu_time, stats.cpu_time);
    if (!jail.notify) return;
    e.denied_total = jail.notify->total();
    e.denied_throttled = jail.notify->throttled();
  }

  void send_denied(const JailProcess& jail) {
    auto packet = std::make_unique<DeniedPacket>();
    packet->head = {kWireMagic, ReplyType::kDenied, *jail.launch};
    const auto& records = jail.notify->records();
    packet->count = static_cast<std::uint32_t>(records.size());
    std::copy(records.begin(), records.end(), packet->records.begin());
    if (!send_struct(caller_.get(), *packet)) alive_ = false;
  }

  // ---- denied calls

  void serve_listener(JailProcess& jail, std::uint32_t events) {
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

  void resume_listeners(Clock::time_point now) {
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

  // ---- limits that nobody else enforces

  void tick(Clock::time_point now) {
    next_tick_ = now + kTick;
    for (auto& [serial, jail] : jails_)
      if (jail.stage == Stage::kRunning) sample(jail);
    leftovers_.erase(std::remove_if(leftovers_.begin(), leftovers_.end(),
                                    [](Cgroup& c) { return c.remove(); }),
                     leftovers_.end());
  }

  void sample(JailProcess& jail) {
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

  static std::uint64_t workdir_bytes(const JailProcess& jail) {
    struct statfs st {};
    if (::fstatfs(jail.workdir.get(), &st) != 0) return 0;
    return (st.f_blocks - st.f_bfree) * static_cast<std::uint64_t>(st.f_bsize);
  }

  // ---- the end

  void end_all() {
    for (auto& [serial, jail] : jails_) end(jail);
    for (auto& [serial, jail] : jails_) {
      ::waitid(P_PIDFD, static_cast<id_t>(jail.pidfd.get()), nullptr, WEXITED);
      jail.cgroup.remove();
    }
  }

  Fd caller_;
  Fd keeper_;
  Fd epoll_;
  const Hello hello_;
  const Cgroups& cgroups_;
  const WorkerFacts facts_;
  bool alive_ = true;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t last_serial_ = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<LoadedPlan>> plans_;
  std::map<std::uint64_t, JailProcess> jails_;
  std::vector<std::uint64_t> throttled_;
  std::vector<Cgroup> leftovers_;
  std::size_t running_ = 0;
  bool refill_due_ = false;
  Clock::time_point next_tick_ = Clock::now();
  Received received_;
};

}  // namespace

int run_worker(Fd caller, Fd keeper, Hello hello, const Cgroups& cgroups, WorkerFacts facts) {
  Worker worker(std::move(caller), std::move(keeper), hello, cgroups, facts);
  return worker.run();
}

}  // namespace jail
