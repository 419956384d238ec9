#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <utility>

#include "runner/service/sessions_inner.h"
#include "runner/session/job.h"
#include "runner/text.h"

namespace runner {

using Kind = Refusal::Kind;
Sessions::Sessions(boost::asio::io_context& io, const Home& home, SessionsOptions options)
    : io_(io),
      home_(home),
      options_(std::move(options)),
      library_(policies::Library::open(home.policies)),
      launcher_(std::make_unique<Launcher>(io)),
      reviving_(io),
      hasher_(io),
      writer_(io),
      sweeping_(io) {
  launcher_->on_prototype_ended([this](std::uint32_t id, int status) {
    for (auto& [name, kit] : kits_) {
      if (kit->prototype) kit->prototype->ended(id, status);
      if (kit->heir) kit->heir->ended(id, status);
    }
  });
  launcher_->use_meters();
  launcher_->on_gone([this](const Error& why) { lose_spawner(why); });
  if (const auto started = start_spawner(); started) {
    if (auto kit = kit_for(options_.default_policy, "python")) refill(**kit);
  }
  sweep();
}

Sessions::~Sessions() {
  alive_.reset();
  for (auto& [name, kit] : kits_) kit->empty();
  entries_.clear();
  kits_.clear();
}

std::int64_t Sessions::seconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(options_.now().time_since_epoch())
      .count();
}

// What the wall clock is ahead of the steady one.
std::int64_t Sessions::clock_offset() const {
  return std::chrono::duration_cast<std::chrono::seconds>(options_.now().time_since_epoch() -
                                                          options_.steady().time_since_epoch())
      .count();
}

Result<void> Sessions::start_spawner() {
  spawner_since_ = std::chrono::steady_clock::now();
  auto started = launcher_->start(home_.spawner);
  spawner_trouble_.reset();
  if (!started) spawner_trouble_ = started.error();
  return started;
}

// All jails are gone with it. A new one, and new prototypes; the sessions tell their own end.
void Sessions::lose_spawner(const Error& why) {
  constexpr std::chrono::seconds kShortLife{2};
  constexpr std::chrono::milliseconds kPause{500};
  const bool is_old = std::chrono::steady_clock::now() - spawner_since_ > kShortLife;
  spawner_trouble_ = why;
  // Where it dies at each start, not as fast as it can.
  reviving_.expires_after(is_old ? std::chrono::milliseconds(0) : kPause);
  reviving_.async_wait([this, alive = std::weak_ptr(alive_)](const auto& error) {
    if (!error && !alive.expired()) revive();
  });
}

void Sessions::revive() {
  for (auto& [name, kit] : kits_) {
    kit->warm.clear();
    kit->starting.clear();
  }
  if (const auto started = start_spawner(); !started) return lose_spawner(started.error());
  for (auto& [name, kit] : kits_) {
    kit->heir.reset();
    if (kit->prototype) kit->prototype->restart();
    serve_waiting(*kit);
    refill(*kit);
  }
}

// ------------------------------------------------------------------------------------------------
// Containers.

void Sessions::create(const Tenant& tenant, const ContainerWish& wish, ContainerDone done) {
  create(tenant, wish, Shown::kListed, done);
}

void Sessions::create(const Tenant& tenant, const ContainerWish& wish, Shown shown,
                      const ContainerDone& done) {
  const auto made = make_entry(tenant, wish);
  if (!made) {
    boost::asio::post(io_, [done, refusal = made.error()] { done(tl::unexpected(refusal)); });
    return;
  }
  const std::shared_ptr<Entry>& entry = *made;
  entry->shown = shown;
  const auto opened = [this, entry, done, files = wish.file_ids, alive = std::weak_ptr(alive_)](
                          Result<std::unique_ptr<Interpreter>> interpreter) {
    if (alive.expired()) return;
    --entry->kit->opening;
    if (!interpreter) return done(tl::unexpected(unavailable(interpreter.error())));
    entries_[entry->info.id] = entry;
    ++entry->kit->running;
    open(entry, std::move(*interpreter));
    const auto copy = [this, entry](const std::string& id, const FileDone& copied) {
      copy_file(entry->tenant, entry->info.id, id, copied);
    };
    each_in_turn(files, copy, [this, entry, done](const Answer<void>& copied) {
      if (copied) return done(told(*entry));
      (void)remove(entry->tenant, entry->info.id);
      done(tl::unexpected(copied.error()));
    });
  };
  ++entry->kit->opening;
  if (entry->plan == entry->kit->plan) return give(*entry->kit, opened);
  start_own(*entry->plan, opened);
}

Answer<std::shared_ptr<Sessions::Entry>> Sessions::make_entry(const Tenant& tenant,
                                                              const ContainerWish& wish) {
  const std::string language = canonical_language(wish.language.value_or("python"));
  const auto kit = kit_for(wish.policy.value_or(options_.default_policy), language);
  if (!kit) return tl::unexpected(kit.error());
  if (spawner_trouble_) return tl::unexpected(unavailable(*spawner_trouble_));
  const policies::Session& quota = (*kit)->plan->policy.session;
  // The policy's, in the minutes of the API.
  const auto most_idle =
      std::max(std::chrono::floor<std::chrono::minutes>(quota.idle), std::chrono::minutes(1));
  const std::chrono::minutes idle = wish.idle.value_or(most_idle);
  if (idle < std::chrono::minutes(1) || idle > most_idle)
    return refuse(Kind::kInvalid,
                  "expires_after.minutes must be from 1 to " + std::to_string(most_idle.count()),
                  "expires_after.minutes");
  if ((*kit)->running + (*kit)->opening >= quota.max_sessions)
    return too_many("there are " + std::to_string(quota.max_sessions) +
                    " containers of this policy already; delete one, or wait");
  auto entry = std::make_shared<Entry>();
  entry->plan = (*kit)->plan;
  if (wish.memory) {
    auto plan = narrowed(**kit, *wish.memory);
    if (!plan) return tl::unexpected(plan.error());
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
  entry->idle_until = options_.steady() + idle;
  entry->dies_at = options_.steady() + quota.lifetime;
  entry->clock_offset = clock_offset();
  return entry;
}

void Sessions::open(const std::shared_ptr<Entry>& entry, std::unique_ptr<Interpreter> interpreter) {
  Session::Events events;
  events.now = [this] { return seconds(); };
  events.touch = [this, weak = std::weak_ptr(entry)] {
    const auto one = weak.lock();
    return one ? touch(*one) : std::int64_t{0};
  };
  events.lost = [this, weak = std::weak_ptr(entry)](const Error&) {
    if (const auto one = weak.lock()) expire(*one, "its jail is gone");
  };
  entry->session = std::make_shared<Session>(io_, *launcher_, entry->plan, hasher_, entry->info.id,
                                             std::move(events));
  entry->session->adopt(std::move(interpreter));
  if (options_.metrics != nullptr) {
    ++options_.metrics->sessions_created;
    ++options_.metrics->sessions_open;
  }
}

std::int64_t Sessions::touch(Entry& entry) {
  const Steady now = options_.steady();
  entry.info.last_active_at = seconds();
  entry.idle_until = std::min(now + entry.info.idle, entry.dies_at);
  entry.info.expires_at =
      entry.info.last_active_at +
      std::chrono::duration_cast<std::chrono::seconds>(entry.idle_until - now).count();
  entry.clock_offset = clock_offset();
  return entry.info.expires_at;
}

// As it is to be shown now: where the clock was set meanwhile, so was the hour of its end.
Container Sessions::told(const Entry& entry) const {
  Container info = entry.info;
  const std::int64_t jumped = clock_offset() - entry.clock_offset;
  if (info.status == Container::Status::kRunning && std::abs(jumped) > 1) info.expires_at += jumped;
  return info;
}

void Sessions::expire(Entry& entry, const std::string& why) {
  if (entry.info.status == Container::Status::kExpired) return;
  entry.info.status = Container::Status::kExpired;
  --entry.kit->running;
  entry.expired_at = options_.steady();
  entry.info.expires_at = std::min(entry.info.expires_at, seconds());
  if (const auto session = std::exchange(entry.session, nullptr))
    session->close(Word::kExpired, "the container has expired: " + why);
  if (options_.metrics != nullptr) {
    --options_.metrics->sessions_open;
    ++options_.metrics->sessions_expired;
  }
}

void Sessions::sweep() {
  const Steady now = options_.steady();
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = *it->second;
    const bool idle = !entry.session || !entry.session->is_busy();
    if (entry.info.status == Container::Status::kRunning) {
      if (now >= entry.dies_at)
        expire(entry, "it reached its maximum lifetime");
      else if (idle && now >= entry.idle_until)
        expire(entry, "it was idle for too long");
    }
    const bool old = entry.info.status == Container::Status::kExpired &&
                     now - entry.expired_at >= options_.keep_expired;
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
  if (it == entries_.end() || it->second->tenant != tenant)
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
  return told(**found);
}

Answer<Listing<Container>> Sessions::list(const Tenant& tenant, const Page& page,
                                          std::string_view name) {
  std::vector<const Entry*> own;
  for (const auto& [id, one] : entries_)
    if (one->tenant == tenant && one->shown == Shown::kListed &&
        (name.empty() || one->info.name == name))
      own.push_back(one.get());
  std::sort(own.begin(), own.end(),
            [](const Entry* a, const Entry* b) { return a->order < b->order; });
  std::vector<Container> all;
  all.reserve(own.size());
  for (const Entry* one : own) all.push_back(told(*one));
  return page_of(std::move(all), page, [](const Container& one) { return one.id; });
}

Answer<void> Sessions::remove(const Tenant& tenant, std::string_view id) {
  const auto found = entry(tenant, id);
  if (!found) return tl::unexpected(found.error());
  if (const auto session = std::exchange((*found)->session, nullptr)) {
    session->close(Word::kKilled, "the container was deleted");
    if (options_.metrics != nullptr) --options_.metrics->sessions_open;
  }
  if ((*found)->info.status == Container::Status::kRunning) --(*found)->kit->running;
  entries_.erase(entries_.find(id));
  return {};
}

Answer<std::unique_ptr<ExecutionHandle>> Sessions::execute(const Tenant& tenant,
                                                           std::string_view id, ExecuteWish wish,
                                                           ExecutionSink sink) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  if (wish.language && canonical_language(*wish.language) != (*found)->info.language)
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

jail::Bytes Sessions::max_file() const {
  const auto kit = kits_.find({options_.default_policy, "python"});
  return kit == kits_.end() ? jail::mib(30) : kit->second->plan->policy.files.max_file;
}

std::vector<Preload> Sessions::preloads() const {
  std::vector<Preload> all;
  for (const auto& [name, kit] : kits_)
    if (kit->prototype) all.push_back(preload_of(*kit));
  return all;
}

void Sessions::measure(Metrics& metrics) const {
  metrics.pools.clear();
  for (const auto& [name, kit] : kits_)
    metrics.pools[{to_utf8(name.first), name.second}] = {kit->warm.size(), kit->starting.size(),
                                                         kit->waiting.size()};
}

void Sessions::shutdown(const std::string& why) {
  for (auto& [id, one] : entries_)
    if (const auto session = std::exchange(one->session, nullptr))
      session->close(Word::kKilled, why);
  for (auto& [name, kit] : kits_) turn_away(*kit, Error{ErrorKind::kHost, why, {}});
}

}  // namespace runner
