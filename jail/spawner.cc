#include "jail/spawner.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "jail/worker.h"

namespace jail {

std::uint64_t Worker::tag(Source source, std::uint64_t serial) {
  return serial << 3U | static_cast<std::uint64_t>(source);
}

Worker::Worker(Fd caller, Fd keeper, const Hello& hello, const Cgroups& cgroups,
               const WorkerFacts& facts)
    : caller_(std::move(caller)),
      keeper_(std::move(keeper)),
      hello_(hello),
      cgroups_(cgroups),
      facts_(facts),
      networks_(facts.proc),
      free_slots_(hello.slots) {
  for (std::uint32_t i = 0; i < hello.slots; ++i) free_slots_[i] = hello.slots - 1 - i;
}

int Worker::run() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return 1;
  reserved_.reserve();
  watch(caller_.get(), Source::kCaller, 0);
  watch(keeper_.get(), Source::kKeeper, 0);
  HelloPacket packet{{kWireMagic, ReplyType::kHello, 0}, hello_};
  if (!send_struct(caller_.get(), packet)) return 1;
  while (alive_) turn();
  end_all();
  return 0;
}

void Worker::turn() {
  std::array<epoll_event, 64> events;
  const int n = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout());
  for (int i = 0; i < n && alive_; ++i)
    handle(events[static_cast<std::size_t>(i)].data.u64,
           events[static_cast<std::size_t>(i)].events);
  const Clock::time_point now = Clock::now();
  resume_listeners(now);
  if (now >= next_tick_) tick(now);
  refill(now);
}

// Milliseconds until something is due: a sample of running jails, or a throttled listener.
int Worker::timeout() const {
  if (refill_due_) return 0;
  Clock::time_point due = Clock::time_point::max();
  if (running_ > 0 || !leftovers_.empty() || orphaned_ > 0) due = next_tick_;
  if (refill_waits_) due = std::min(due, quiet_until_);
  for (const std::uint64_t serial : throttled_) {
    const auto it = jails_.find(serial);
    if (it != jails_.end()) due = std::min(due, it->second.notify->resume_at());
  }
  if (due == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000));
}

void Worker::handle(std::uint64_t data, std::uint32_t events) {
  const auto source = static_cast<Source>(data & 7U);
  if (source == Source::kCaller) return serve_caller();
  if (source == Source::kKeeper) {
    alive_ = false;
    return;
  }
  if (source == Source::kPrototype) return serve_prototype(static_cast<std::uint32_t>(data >> 3U));
  if (source == Source::kListener) {
    // The order to arm was sent before the code that makes this call; it forgets what was refused
    // so far, so it must not come after it.
    pollfd caller{caller_.get(), POLLIN, 0};
    for (int i = 0; i < 64 && alive_ && ::poll(&caller, 1, 0) == 1; ++i) serve_caller();
  }
  const auto it = jails_.find(data >> 3U);
  if (it == jails_.end()) return;
  if (source == Source::kControl) serve_init(it->second);
  if (source == Source::kListener) serve_listener(it->second, events);
  if (source == Source::kReport) serve_report(it->second);
  if (source == Source::kPayload) payload_ended(it->second);
  if (source == Source::kExit) bury(it->second);
}

void Worker::watch(int fd, Source source, std::uint64_t serial) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag(source, serial);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Worker::unwatch(int fd) { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void Worker::serve_caller() {
  Request request;
  // Its end of the socket blocks, for what is sent. What is told of here may have been taken
  // already by a look out of turn, in handle().
  const auto r = receive_packet(caller_.get(), std::as_writable_bytes(std::span(&request, 1)),
                                received_, Wait::kNo);
  if (!r && r.error().error == EAGAIN) return;
  // A caller that breaks the protocol is a caller we no longer understand: end with it.
  if (!r || received_.size != sizeof(request) || request.magic != kWireMagic) {
    alive_ = false;
    return;
  }
  if (request.type == RequestType::kLaunch) launch(request);
  if (request.type == RequestType::kPool) set_pool(request);
  if (request.type == RequestType::kPrototype) start_prototype(request);
  if (request.type == RequestType::kDropPrototype)
    drop_prototype(static_cast<std::uint32_t>(request.id));
  if (request.type == RequestType::kJoin) join(request);
  if (request.type == RequestType::kArm) arm(request.id, Millis(request.number));
  if (request.type == RequestType::kUsage) tell_usage(request.id);
  if (request.type == RequestType::kClose) close_jail(request.id);
  if (request.type == RequestType::kMeters) set_meters();
  if (request.type == RequestType::kInterrupt) interrupt(request.id);
  if (request.type == RequestType::kKill) kill_launch(request.id);
  for (std::size_t i = 0; i < received_.fd_count; ++i) received_.fds[i].reset();
}

void Worker::reply_launched(std::uint64_t id, const SetupError& error) {
  LaunchedPacket packet;
  packet.head = {kWireMagic, ReplyType::kLaunched, id};
  packet.error = error;
  if (!send_struct(caller_.get(), packet)) alive_ = false;
}

Result<std::shared_ptr<LoadedPlan>> Worker::load(Fd file) {
  struct stat st {};
  if (::fstat(file.get(), &st) != 0) return fail(Step::kPlan, errno);
  if (const auto it = loaded_.find(st.st_ino); it != loaded_.end())
    if (auto known = it->second.lock(); known && known->device == st.st_dev) return known;
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
  std::erase_if(loaded_, [](const auto& entry) { return entry.second.expired(); });
  loaded_[plan->inode] = plan;
  return plan;
}

void Worker::set_pool(const Request& request) {
  if (received_.fd_count != 1) return;
  auto plan = load(std::move(received_.fds[0]));
  if (!plan) return;
  (*plan)->pool_target = std::min(request.number, hello_.slots);
  (*plan)->broken.reset();
  plans_[(*plan)->inode] = *plan;
  if (request.number == 0) plans_.erase((*plan)->inode);
  std::uint32_t kept = 0;
  for (auto& [serial, jail] : jails_) {
    if (jail.plan != *plan || jail.launch || jail.stage == Stage::kDying) continue;
    if (++kept > request.number) end(jail);
  }
}

// fds: plan, command, stdin, stdout, stderr, inputs...
void Worker::launch(const Request& request) {
  if (received_.fd_count < 5)
    return reply_launched(request.id, SetupError{Step::kProtocol, 0, EBADMSG});
  auto plan = load(std::move(received_.fds[0]));
  if (!plan) return reply_launched(request.id, plan.error());
  if ((*plan)->view.header().start != Start::kExec)
    return reply_launched(request.id, SetupError{Step::kProtocol, 2, EINVAL});
  const auto taken = take(*plan, request.id);
  if (!taken) return reply_launched(request.id, taken.error());
  JailProcess* jail = *taken;
  jail->kill_after = Millis(request.number);
  if (jail->stage == Stage::kReady) jail->stage = Stage::kStarting;
  std::array<int, kMaxFds> fds{};
  for (std::size_t i = 1; i < received_.fd_count; ++i) fds[i - 1] = received_.fds[i].get();
  InitOrder order;
  order.type = OrderType::kStart;
  // Queued in the socket pair: a jail still being made reads it when it is done.
  if (const auto sent =
          send_struct(jail->control.get(), order, std::span(fds.data(), received_.fd_count - 1));
      !sent)
    end(*jail);
}

// One that is ready, or being made, or a new one.
Result<JailProcess*> Worker::take(const std::shared_ptr<LoadedPlan>& plan, std::uint64_t launch) {
  JailProcess* jail = take_pooled(plan);
  if (jail == nullptr) {
    const auto made = make(plan);
    if (!made) return made;
    jail = *made;
  }
  quiet_until_ = Clock::now() + kQuiet;
  jail->launch = launch;
  launches_[launch] = jail->serial;
  return jail;
}

JailProcess* Worker::take_pooled(const std::shared_ptr<LoadedPlan>& plan) {
  if (plan->pool_target == 0) return nullptr;  // then every jail of it is somebody's
  JailProcess* making = nullptr;
  for (auto& [serial, jail] : jails_) {
    if (jail.plan != plan || jail.launch) continue;
    if (jail.stage == Stage::kReady) return &jail;
    if (jail.stage == Stage::kMaking) making = &jail;
  }
  return making;
}

void Worker::interrupt(std::uint64_t id) {
  JailProcess* jail = find(id);
  if (jail == nullptr || jail->stage != Stage::kRunning) return;
  if (jail->joining) {
    ::kill(-jail->joining->pid, SIGINT);
    return;
  }
  InitOrder order;
  order.type = OrderType::kSignal;
  order.number = SIGINT;
  (void)send_struct(jail->control.get(), order);
}

void Worker::kill_launch(std::uint64_t id) {
  if (JailProcess* jail = find(id)) kill_for(*jail, KillCause::kRequested);
}

JailProcess* Worker::find(std::uint64_t id) {
  const auto launch = launches_.find(id);
  if (launch == launches_.end()) return nullptr;
  const auto jail = jails_.find(launch->second);
  return jail == jails_.end() ? nullptr : &jail->second;
}

// All our children die, some of which we may not know yet: a payload whose prototype has just
// cloned it. Init can't end before such a one is reaped.
void Worker::end_all() {
  for (auto& [serial, jail] : jails_) end(jail);
  for (auto& [id, prototype] : prototypes_) ::kill(prototype.pid, SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  for (auto& [serial, jail] : jails_) jail.cgroup.remove();
}

int run_worker(Fd caller, Fd keeper, Hello hello, const Cgroups& cgroups, WorkerFacts facts) {
  Worker worker(std::move(caller), std::move(keeper), hello, cgroups, facts);
  return worker.run();
}

}  // namespace jail
