#include "runner/session/sessions.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <deque>
#include <utility>

#include "policies/compile.h"
#include "policies/narrow.h"
#include "runner/service_factory.h"
#include "runner/session/rules.h"
#include "runner/text.h"

namespace runner {
namespace {

using Kind = Refusal::Kind;

tl::unexpected<Refusal> refuse(Kind kind, std::string text, std::string param = "") {
  return tl::unexpected(Refusal{kind, std::move(text), std::move(param), {}});
}

tl::unexpected<Refusal> too_many(std::string text) {
  return tl::unexpected(Refusal{Kind::kTooMany, std::move(text), "", std::chrono::seconds(5)});
}

// What a client may know of our own failure: no path of the host.
Refusal unavailable(const Error& error) {
  std::string text = "no session can be started here";
  if (error.setup) text += ": " + jail::describe(*error.setup, nullptr);
  return Refusal{Kind::kUnavailable, text, "", std::chrono::seconds(5)};
}

template <class T, class IdOf>
Answer<Listing<T>> page_of(std::vector<T> all, const Page& page, const IdOf& id_of) {
  if (page.limit < 1 || page.limit > 100)
    return refuse(Kind::kInvalid, "limit must be from 1 to 100", "limit");
  if (page.order == Page::Order::kDescending) std::reverse(all.begin(), all.end());
  auto begin = all.begin();
  if (!page.after.empty()) {
    begin = std::find_if(all.begin(), all.end(),
                         [&](const T& one) { return id_of(one) == page.after; });
    if (begin == all.end()) return refuse(Kind::kInvalid, "after: no such id", "after");
    ++begin;
  }
  Listing<T> listing;
  const auto left = static_cast<std::size_t>(all.end() - begin);
  const std::size_t count = std::min(left, page.limit);
  listing.has_more = left > count;
  listing.data.assign(std::make_move_iterator(begin),
                      std::make_move_iterator(begin + static_cast<std::ptrdiff_t>(count)));
  return listing;
}

}  // namespace

struct Sessions::Kit {
  std::shared_ptr<const SessionPlan> plan;
  std::unique_ptr<PrototypeKeeper> prototype;
  std::vector<std::unique_ptr<Interpreter>> starting;
  std::vector<std::unique_ptr<Interpreter>> warm;
  std::deque<Waiting> waiting;
  bool refilling = false;
  std::size_t opening = 0;  // containers that are being made
};

struct Sessions::Entry {
  Container info;
  Tenant tenant;
  std::shared_ptr<Kit> kit;
  std::shared_ptr<const SessionPlan> plan;
  std::shared_ptr<Session> session;
  std::int64_t dies_at = 0;
  std::int64_t expired_at = 0;
  std::uint64_t order = 0;
  bool hidden = false;  // of a one-shot execution
};

Sessions::Sessions(boost::asio::io_context& io, const Home& home, SessionsOptions options)
    : io_(io),
      home_(home),
      options_(std::move(options)),
      library_(policies::Library::open(home.policies)),
      launcher_(std::make_unique<Launcher>(io)),
      sweeping_(io) {
  launcher_->on_prototype_ended([this](std::uint32_t id, int status) {
    for (auto& [name, kit] : kits_)
      if (kit->prototype) kit->prototype->ended(id, status);
  });
  launcher_->on_gone([this](const Error& why) { lose_spawner(why); });
  if (const auto started = start_spawner(); started) {
    if (auto kit = kit_for(options_.default_policy)) refill(**kit);
  }
  sweep();
}

Sessions::~Sessions() {
  *alive_ = 0;
  entries_.clear();
  kits_.clear();
}

std::int64_t Sessions::seconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(options_.now().time_since_epoch())
      .count();
}

Result<void> Sessions::start_spawner() {
  auto started = launcher_->start(home_.spawner);
  spawner_trouble_.reset();
  if (!started) spawner_trouble_ = started.error();
  return started;
}

// All jails are gone with it. A new one, and new prototypes; the sessions tell their own end.
void Sessions::lose_spawner(const Error& why) {
  spawner_trouble_ = why;
  boost::asio::post(io_, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    for (auto& [name, kit] : kits_) {
      kit->warm.clear();
      kit->starting.clear();
    }
    if (!start_spawner()) return;
    for (auto& [name, kit] : kits_) {
      if (kit->prototype) (void)kit->prototype->start();
      serve_waiting(*kit);
      refill(*kit);
    }
  });
}

Answer<std::shared_ptr<Sessions::Kit>> Sessions::kit_for(const std::string& name) {
  if (const auto known = kits_.find(name); known != kits_.end()) return known->second;
  if (!library_) return refuse(Kind::kUnavailable, "the policies cannot be read on this host");
  // By name only: a path is the operator's word, not a client's.
  const std::vector<std::string> names = library_->names();
  const bool shipped = std::find(names.begin(), names.end(), name) != names.end();
  if (!shipped && name != options_.default_policy)
    return refuse(Kind::kInvalid, "no policy " + printable(name), "policy");
  auto policy = library_->find(name);
  if (!policy) return refuse(Kind::kUnavailable, "the policy cannot be read", "policy");
  if (policy->mode == policies::Mode::kRestricted)
    return refuse(Kind::kInvalid,
                  "the policy " + printable(name) + " starts no process; use /v1/evaluate",
                  "policy");
  auto kit = std::make_shared<Kit>();
  Refusal refusal;
  kit->plan = make_plan(*policy, kit.get(), refusal);
  if (!kit->plan) return tl::unexpected(refusal);
  kit->prototype =
      std::make_unique<PrototypeKeeper>(io_, *launcher_, home_, *policy, [this, raw = kit.get()] {
        if (raw->prototype->is_ready()) refill(*raw);
      });
  if (auto started = kit->prototype->start(); !started)
    return tl::unexpected(unavailable(started.error()));
  kits_[name] = kit;
  return kit;
}

std::shared_ptr<const SessionPlan> Sessions::make_plan(const policies::Policy& policy, Kit* kit,
                                                       Refusal& refusal) {
  auto spec = policies::to_spec(policy, library_->syscalls(), {});
  if (!spec) {
    refusal = {Kind::kUnavailable, "the policy cannot be used on this host", "policy", {}};
    return nullptr;
  }
  spec->start = jail::Start::kJoin;
  spec->totals.cpu_time = jail::Millis(0);  // counted per execution
  auto plan = jail::make_plan(*spec);
  if (!plan) {
    refusal = unavailable(Error{ErrorKind::kSetup, "", plan.error()});
    return nullptr;
  }
  auto made = std::make_shared<SessionPlan>();
  made->policy = policy;
  made->plan = std::move(*plan);
  made->rule_of = [policy, this](const jail::Denied& call) {
    return rule_for(policy, library_->syscalls(), call);
  };
  made->prototype = [kit] { return kit->prototype->id(); };
  return made;
}

Answer<std::shared_ptr<const SessionPlan>> Sessions::narrowed(const Kit& kit, jail::Bytes memory) {
  policies::Wish wish;
  wish.memory = memory;
  auto policy = policies::narrow(kit.plan->policy, wish);
  if (!policy) return refuse(Kind::kInvalid, policy.error().text, "memory_limit");
  Refusal refusal;
  auto plan = make_plan(*policy, const_cast<Kit*>(&kit), refusal);
  if (!plan) return tl::unexpected(refusal);
  return plan;
}

// ------------------------------------------------------------------------------------------------
// Idle interpreters, ahead of those who will want one.

void Sessions::give(Kit& kit, Waiting to) {
  kit.waiting.push_back(std::move(to));
  serve_waiting(kit);
}

void Sessions::serve_waiting(Kit& kit) {
  std::erase_if(kit.warm, [](const auto& idle) { return idle->is_over(); });
  while (!kit.waiting.empty() && !kit.warm.empty()) {
    auto to = std::move(kit.waiting.front());
    kit.waiting.pop_front();
    auto interpreter = std::move(kit.warm.back());
    kit.warm.pop_back();
    boost::asio::post(io_, [to = std::move(to),
                            one = std::make_shared<decltype(interpreter)>(std::move(interpreter))] {
      to(std::move(*one));
    });
  }
  while (kit.starting.size() < kit.waiting.size()) start_warm(kit);
  refill(kit);
}

// One at a time, and not in the way of the request that made room.
void Sessions::refill(Kit& kit) {
  if (kit.refilling || spawner_trouble_ || kit.warm.size() + kit.starting.size() >= options_.warm)
    return;
  kit.refilling = true;
  const auto timer = std::make_shared<boost::asio::steady_timer>(io_, std::chrono::milliseconds(3));
  timer->async_wait([this, &kit, timer, alive = std::weak_ptr(alive_)](const auto& error) {
    if (error || alive.expired()) return;
    kit.refilling = false;
    if (kit.warm.size() + kit.starting.size() < options_.warm) start_warm(kit);
  });
}

void Sessions::start_warm(Kit& kit) {
  auto interpreter = std::make_unique<Interpreter>(io_, *launcher_);
  Interpreter* one = interpreter.get();
  const auto take = [&kit, one] {
    const auto it = std::find_if(kit.starting.begin(), kit.starting.end(),
                                 [&](const auto& other) { return other.get() == one; });
    std::unique_ptr<Interpreter> taken;
    if (it == kit.starting.end()) return taken;
    taken = std::move(*it);
    kit.starting.erase(it);
    return taken;
  };
  Interpreter::Events events;
  // From the loop's next turn: its events are about to change hands.
  events.ready = [this, &kit, take, alive = std::weak_ptr(alive_)] {
    boost::asio::post(io_, [this, &kit, take, alive] {
      if (alive.expired()) return;
      if (auto taken = take()) kit.warm.push_back(std::move(taken));
      serve_waiting(kit);
    });
  };
  events.ended = [this, &kit, take, alive = std::weak_ptr(alive_)](const Result<jail::Ended>& how) {
    const Error why = how ? Error{ErrorKind::kSpawner, "it ended at its start", {}} : how.error();
    boost::asio::post(io_, [this, &kit, take, alive, why] {
      if (alive.expired()) return;
      const auto gone = take();
      if (kit.waiting.empty()) return;
      const auto to = std::move(kit.waiting.front());
      kit.waiting.pop_front();
      to(tl::unexpected(why));
    });
  };
  interpreter->set_events(std::move(events));
  kit.starting.push_back(std::move(interpreter));
  one->join(kit.prototype->id(), kit.plan->plan, 0);
}

// ------------------------------------------------------------------------------------------------
// Containers.

void Sessions::create(const Tenant& tenant, const ContainerWish& wish, ContainerDone done) {
  const auto later = [this, done](Answer<Container> answer) {
    boost::asio::post(io_, [done, answer = std::move(answer)] { done(answer); });
  };
  const std::string language = wish.language.value_or("python");
  if (language != "python")
    return later(refuse(Kind::kInvalid,
                        "sessions speak python; other languages run by /v1/execute's one-shot "
                        "command line only",
                        "language"));
  const std::chrono::minutes idle = wish.idle.value_or(options_.most_idle);
  if (idle < std::chrono::minutes(1) || idle > options_.most_idle)
    return later(refuse(
        Kind::kInvalid,
        "expires_after.minutes must be from 1 to " + std::to_string(options_.most_idle.count()),
        "expires_after.minutes"));
  auto kit = kit_for(wish.policy.value_or(options_.default_policy));
  if (!kit) return later(tl::unexpected(kit.error()));
  if (spawner_trouble_) return later(tl::unexpected(unavailable(*spawner_trouble_)));
  const policies::Session& quota = (*kit)->plan->policy.session;
  const auto open_now = std::count_if(entries_.begin(), entries_.end(), [&](const auto& one) {
    return one.second->kit == *kit && one.second->info.status == Container::Status::kRunning;
  });
  if (static_cast<std::uint64_t>(open_now) + (*kit)->opening >= quota.max_sessions)
    return later(too_many("there are " + std::to_string(quota.max_sessions) +
                          " containers of this policy already; delete one, or wait"));
  auto entry = std::make_shared<Entry>();
  entry->plan = (*kit)->plan;
  if (wish.memory) {
    auto plan = narrowed(**kit, *wish.memory);
    if (!plan) return later(tl::unexpected(plan.error()));
    entry->plan = *plan;
  }
  const std::int64_t now = seconds();
  entry->info = Container{new_id("cntr_"),
                          wish.name,
                          entry->plan->policy.name,
                          language,
                          Container::Status::kRunning,
                          now,
                          now,
                          now + std::chrono::seconds(idle).count(),
                          idle,
                          entry->plan->policy.limits.memory};
  entry->tenant = tenant;
  entry->kit = *kit;
  entry->order = ++last_order_;
  entry->dies_at = now + std::chrono::duration_cast<std::chrono::seconds>(quota.lifetime).count();
  const auto opened = [this, entry, done, files = wish.file_ids, alive = std::weak_ptr(alive_)](
                          Result<std::unique_ptr<Interpreter>> interpreter) {
    if (alive.expired()) return;
    --entry->kit->opening;
    if (!interpreter) return done(tl::unexpected(unavailable(interpreter.error())));
    entries_[entry->info.id] = entry;
    open(entry, std::move(*interpreter));
    for (const std::string& id : files) {
      if (const auto copied = copy_file(entry->tenant, entry->info.id, id); !copied) {
        (void)remove(entry->tenant, entry->info.id);
        return done(tl::unexpected(copied.error()));
      }
    }
    done(entry->info);
  };
  ++(*kit)->opening;
  if (entry->plan == (*kit)->plan) return give(**kit, opened);
  // Tightened: a jail of its own.
  auto interpreter = std::make_shared<std::unique_ptr<Interpreter>>(
      std::make_unique<Interpreter>(io_, *launcher_));
  Interpreter::Events events;
  events.ready = [this, interpreter, opened] {
    boost::asio::post(io_, [interpreter, opened] {
      if (*interpreter) opened(std::move(*interpreter));
    });
  };
  events.ended = [this, interpreter, opened](const Result<jail::Ended>& how) {
    const Error why = how ? Error{ErrorKind::kSpawner, "it ended at its start", {}} : how.error();
    boost::asio::post(io_, [interpreter, opened, why] {
      if (std::exchange(*interpreter, nullptr)) opened(tl::unexpected(why));
    });
  };
  (*interpreter)->set_events(std::move(events));
  (*interpreter)->join((*kit)->prototype->id(), entry->plan->plan, 0);
}

void Sessions::open(const std::shared_ptr<Entry>& entry, std::unique_ptr<Interpreter> interpreter) {
  Session::Events events;
  events.touch = [this, weak = std::weak_ptr(entry)] {
    const auto one = weak.lock();
    return one ? touch(*one) : std::int64_t{0};
  };
  events.lost = [this, weak = std::weak_ptr(entry)](const Error&) {
    if (const auto one = weak.lock()) expire(*one, "its jail is gone");
  };
  entry->session =
      std::make_shared<Session>(io_, *launcher_, entry->plan, entry->info.id, std::move(events));
  entry->session->adopt(std::move(interpreter));
  if (options_.metrics != nullptr) {
    ++options_.metrics->sessions_created;
    ++options_.metrics->sessions_open;
  }
}

std::int64_t Sessions::touch(Entry& entry) {
  entry.info.last_active_at = seconds();
  entry.info.expires_at = std::min(
      entry.info.last_active_at + std::chrono::seconds(entry.info.idle).count(), entry.dies_at);
  return entry.info.expires_at;
}

void Sessions::expire(Entry& entry, const std::string& why) {
  if (entry.info.status == Container::Status::kExpired) return;
  entry.info.status = Container::Status::kExpired;
  entry.expired_at = seconds();
  entry.info.expires_at = std::min(entry.info.expires_at, entry.expired_at);
  if (const auto session = std::exchange(entry.session, nullptr))
    session->close(Word::kExpired, "the container has expired: " + why);
  if (options_.metrics != nullptr) {
    --options_.metrics->sessions_open;
    ++options_.metrics->sessions_expired;
  }
}

void Sessions::sweep() {
  const std::int64_t now = seconds();
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = *it->second;
    const bool idle = !entry.session || !entry.session->is_busy();
    if (entry.info.status == Container::Status::kRunning) {
      if (now >= entry.dies_at)
        expire(entry, "it reached its maximum lifetime");
      else if (idle && now >= entry.info.expires_at)
        expire(entry, "it was idle for too long");
    }
    const bool old = entry.info.status == Container::Status::kExpired &&
                     now - entry.expired_at >= std::chrono::seconds(options_.keep_expired).count();
    it = old ? entries_.erase(it) : std::next(it);
  }
  sweeping_.expires_after(std::chrono::seconds(1));
  sweeping_.async_wait([this, alive = std::weak_ptr(alive_)](const auto& error) {
    if (!error && !alive.expired()) sweep();
  });
}

Answer<std::shared_ptr<Sessions::Entry>> Sessions::entry(const Tenant& tenant,
                                                         std::string_view id) {
  const auto it = entries_.find(id);
  if (it == entries_.end() || it->second->tenant != tenant || it->second->hidden)
    return refuse(Kind::kNotFound, "no such container", "container_id");
  return it->second;
}

Answer<std::shared_ptr<Sessions::Entry>> Sessions::live(const Tenant& tenant, std::string_view id) {
  auto found = entry(tenant, id);
  if (!found) return found;
  if ((*found)->info.status == Container::Status::kExpired || !(*found)->session)
    return refuse(Kind::kExpired, "Container is expired.");
  touch(**found);
  return found;
}

Answer<Container> Sessions::find(const Tenant& tenant, std::string_view id) {
  const auto found = entry(tenant, id);
  if (!found) return tl::unexpected(found.error());
  if ((*found)->info.status == Container::Status::kRunning) touch(**found);
  return (*found)->info;
}

Answer<Listing<Container>> Sessions::list(const Tenant& tenant, const Page& page,
                                          std::string_view name) {
  std::vector<const Entry*> own;
  for (const auto& [id, one] : entries_)
    if (one->tenant == tenant && !one->hidden && (name.empty() || one->info.name == name))
      own.push_back(one.get());
  std::sort(own.begin(), own.end(),
            [](const Entry* a, const Entry* b) { return a->order < b->order; });
  std::vector<Container> all;
  all.reserve(own.size());
  for (const Entry* one : own) all.push_back(one->info);
  return page_of(std::move(all), page, [](const Container& one) { return one.id; });
}

Answer<void> Sessions::remove(const Tenant& tenant, std::string_view id) {
  const auto found = entry(tenant, id);
  if (!found) return tl::unexpected(found.error());
  if (const auto session = std::exchange((*found)->session, nullptr)) {
    session->close(Word::kKilled, "the container was deleted");
    if (options_.metrics != nullptr) --options_.metrics->sessions_open;
  }
  entries_.erase(entries_.find(id));
  return {};
}

Answer<std::unique_ptr<ExecutionHandle>> Sessions::execute(const Tenant& tenant,
                                                           std::string_view id, ExecuteWish wish,
                                                           ExecutionSink sink) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  if (wish.language && *wish.language != (*found)->info.language)
    return refuse(Kind::kInvalid, "this container speaks " + (*found)->info.language, "language");
  if (wish.timeout && wish.timeout->count() <= 0)
    return refuse(Kind::kInvalid, "timeout_s must be more than 0", "timeout_s");
  Metrics* metrics = options_.metrics;
  if (metrics != nullptr) ++metrics->executions_running;
  return (*found)->session->execute(std::move(wish),
                                    [metrics, sink = std::move(sink)](const ExecutionEvent& event) {
                                      const auto* finished = std::get_if<Finished>(&event);
                                      if (metrics != nullptr && finished != nullptr) {
                                        --metrics->executions_running;
                                        ++metrics->executions[word_text(finished->outcome.word)];
                                      }
                                      sink(event);
                                    });
}

Answer<void> Sessions::interrupt(const Tenant& tenant, std::string_view id) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  return (*found)->session->interrupt();
}

Answer<File> Sessions::put_file(const Tenant& tenant, std::string_view id, const std::string& name,
                                std::string_view content) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  Session& session = *(*found)->session;
  return session.files().put(session.workdir(), name, content, seconds());
}

Answer<File> Sessions::copy_file(const Tenant& tenant, std::string_view id,
                                 std::string_view file_id) {
  for (const auto& [other, one] : entries_) {
    if (one->tenant != tenant || !one->session) continue;
    const File* file = one->session->files().find(file_id);
    if (file == nullptr) continue;
    const std::string name = file->path.substr(file->path.rfind('/') + 1);
    auto bytes = one->session->files().content(one->session->workdir(), file_id);
    if (!bytes) return tl::unexpected(bytes.error());
    return put_file(tenant, id, name, *bytes);
  }
  return refuse(Kind::kNotFound, "there is no file with this id", "file_id");
}

Answer<Listing<File>> Sessions::files(const Tenant& tenant, std::string_view id, const Page& page) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  Session& session = *(*found)->session;
  if (!session.is_busy()) (void)session.files().look(session.workdir(), seconds());
  return page_of(session.files().all(), page, [](const File& one) { return one.id; });
}

Answer<File> Sessions::file(const Tenant& tenant, std::string_view id, std::string_view file_id) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  const File* file = (*found)->session->files().find(file_id);
  if (file == nullptr) return refuse(Kind::kNotFound, "no such file in this container", "file_id");
  return *file;
}

Answer<std::string> Sessions::content(const Tenant& tenant, std::string_view id,
                                      std::string_view file_id) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  return (*found)->session->files().content((*found)->session->workdir(), file_id);
}

Answer<void> Sessions::remove_file(const Tenant& tenant, std::string_view id,
                                   std::string_view file_id) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  return (*found)->session->files().remove((*found)->session->workdir(), file_id);
}

jail::Bytes Sessions::max_file() const {
  const auto kit = kits_.find(options_.default_policy);
  return kit == kits_.end() ? jail::mib(30) : kit->second->plan->policy.files.max_file;
}

void Sessions::shutdown(const std::string& why) {
  for (auto& [id, one] : entries_)
    if (const auto session = std::exchange(one->session, nullptr))
      session->close(Word::kKilled, why);
}

}  // namespace runner
