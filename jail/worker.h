// The worker's whole state, in five files: spawner.cc (the loop and the caller), worker_jails.cc
// (jails from making to burial), worker_joins.cc (prototypes and the payloads that come from them),
// worker_meters.cc (what one execution uses), worker_limits.cc (refused calls, and limits nobody
// else enforces).
// One thread. Private to jail/; everyone else uses client.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "jail/cgroup.h"
#include "jail/fd.h"
#include "jail/jail_process.h"
#include "jail/meter.h"
#include "jail/networks.h"
#include "jail/sample.h"
#include "jail/wire.h"

namespace jail {

class Worker {
 public:
  Worker(Fd caller, Fd keeper, const Hello& hello, const Cgroups& cgroups,
         const WorkerFacts& facts);

  // Until the caller or the keeper is gone. Returns the process's exit status.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kTick{50};
  static constexpr std::chrono::milliseconds kSeldom{1600};  // between samples of an idle jail
  // After a launch no jail is made ahead for so long, while half of a pool is left: making one
  // keeps the one thread, and a core, from the launch that somebody waits for.
  static constexpr std::chrono::milliseconds kQuiet{3};

  enum class Source : std::uint32_t {
    kCaller,
    kKeeper,
    kControl,
    kExit,
    kListener,
    kPrototype,
    kReport,
    kPayload
  };
  static std::uint64_t tag(Source source, std::uint64_t serial);

  // spawner.cc
  void turn();
  int timeout() const;
  void handle(std::uint64_t data, std::uint32_t events);
  void watch(int fd, Source source, std::uint64_t serial);
  void unwatch(int fd);
  void serve_caller();
  void reply_launched(std::uint64_t id, const SetupError& error);
  Result<std::shared_ptr<LoadedPlan>> load(Fd file);
  void set_pool(const Request& request);
  void launch(const Request& request);
  Result<JailProcess*> take(const std::shared_ptr<LoadedPlan>& plan, std::uint64_t launch);
  JailProcess* take_pooled(const std::shared_ptr<LoadedPlan>& plan);
  void interrupt(std::uint64_t id);
  void kill_launch(std::uint64_t id);
  JailProcess* find(std::uint64_t id);
  void end_all();

  // worker_jails.cc
  Result<JailProcess*> make(const std::shared_ptr<LoadedPlan>& plan);
  void refill(Clock::time_point now);
  void serve_init(JailProcess& jail);
  void listen(JailProcess& jail, Fd listener);
  void started(JailProcess& jail);
  void exited(JailProcess& jail, const InitReport& report);
  void end(JailProcess& jail);
  void kill_for(JailProcess& jail, KillCause cause);
  void bury(JailProcess& jail);
  Result<InitReport> next_report(JailProcess& jail);
  bool drain(JailProcess& jail);
  void report_end(JailProcess& jail);
  void fill_ended(JailProcess& jail);
  void send_denied(const JailProcess& jail);

  // worker_joins.cc
  void start_prototype(const Request& request);
  void start_own_prototype();
  template <class Live>
  bool fork_prototype(std::uint32_t id, const Live& live);
  void drop_prototype(std::uint32_t id);
  void serve_prototype(std::uint32_t id);
  void bury_prototype(std::uint32_t id);
  void join(const Request& request);
  void send_order(JailProcess& jail);
  void fail_join(JailProcess& jail, const SetupError& error);
  void lose_join(JailProcess& jail, const SetupError& error);
  void reap_strangers();
  [[nodiscard]] bool is_ours(pid_t pid) const;
  void joined(JailProcess& jail, const JoinReply& reply);
  void serve_report(JailProcess& jail);
  void payload_ended(JailProcess& jail);
  void park(JailProcess& jail);
  void swept(JailProcess& jail);
  void close_jail(std::uint64_t id);

  // worker_meters.cc
  void arm(std::uint64_t id, Millis cpu_time);
  void begin_counted(JailProcess& jail, Millis cpu_limit);
  void count_anew(JailProcess& jail);
  void tell_usage(std::uint64_t id);
  void set_meters();
  void look_at_meter(JailProcess& jail);

  // worker_limits.cc
  void serve_listener(JailProcess& jail, std::uint32_t events);
  void resume_listeners(Clock::time_point now);
  void tick(Clock::time_point now);
  bool must_look(Clock::time_point now);
  void look_at_all(Clock::time_point now);
  void sample(JailProcess& jail, Clock::time_point now);
  Sampled sampled(const JailProcess& jail) const;
  std::uint64_t tmpfs_bytes(const JailProcess& jail, pid_t payload) const;

  Fd caller_;
  Fd keeper_;
  Fd epoll_;
  ReservedFds reserved_;
  const Hello hello_;
  const Cgroups& cgroups_;
  const WorkerFacts facts_;
  Networks networks_;
  bool alive_ = true;
  MeterMemory meters_;  // shared with the caller, if it likes
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t last_serial_ = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<LoadedPlan>> plans_;  // with a pool
  std::unordered_map<std::uint64_t, std::weak_ptr<LoadedPlan>> loaded_;   // all, by inode
  std::map<std::uint64_t, JailProcess> jails_;
  std::unordered_map<std::uint64_t, std::uint64_t> launches_;  // serials by the caller's ids
  std::map<std::uint32_t, Prototype> prototypes_;
  std::vector<std::uint64_t> throttled_;
  std::vector<Cgroup> leftovers_;
  std::size_t running_ = 0;
  std::size_t orphaned_ = 0;   // jails that die with a payload in them we may not know
  bool refill_due_ = false;    // at once
  bool refill_waits_ = false;  // until quiet_until_
  Clock::time_point quiet_until_ = Clock::now();
  Clock::time_point next_tick_ = Clock::now();
  Clock::time_point kill_due_ = Clock::time_point::max();  // the earliest kill_at
  std::optional<std::uint64_t> cpu_of_all_;                // at the last tick
  Clock::time_point looking_until_ = Clock::now();
  Received received_;
};

}  // namespace jail
