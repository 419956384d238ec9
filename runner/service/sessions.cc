#include <algorithm>
#include <boost/asio/post.hpp>
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
      sweeping_(io) {
  launcher_->on_prototype_ended([this](std::uint32_t id, int status) {
    for (auto& [name, kit] : kits_)
      if (kit->prototype) kit->prototype->ended(id, status);
  });
  launcher_->on_gone([this](const Error& why) { lose_spawner(why); });
  if (const auto started = start_spawner(); started) {
    if (auto kit = kit_for(options_.default_policy, "python")) refill(**kit);
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

// ------------------------------------------------------------------------------------------------
// Containers.

void Sessions::create(const Tenant& tenant, const ContainerWish& wish, ContainerDone done) {
  const auto made = make_entry(tenant, wish);
  if (!made) {
    boost::asio::post(io_, [done, refusal = made.error()] { done(tl::unexpected(refusal)); });
    return;
  }
  const std::shared_ptr<Entry>& entry = *made;
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
  ++entry->kit->opening;
  if (entry->plan == entry->kit->plan) return give(*entry->kit, opened);
  start_own(entry->plan, opened);
}

Answer<std::shared_ptr<Sessions::Entry>> Sessions::make_entry(const Tenant& tenant,
                                                              const ContainerWish& wish) {
  const std::string language = canonical_language(wish.language.value_or("python"));
  const std::chrono::minutes idle = wish.idle.value_or(options_.most_idle);
  if (idle < std::chrono::minutes(1) || idle > options_.most_idle)
    return refuse(
        Kind::kInvalid,
        "expires_after.minutes must be from 1 to " + std::to_string(options_.most_idle.count()),
        "expires_after.minutes");
  const auto kit = kit_for(wish.policy.value_or(options_.default_policy), language);
  if (!kit) return tl::unexpected(kit.error());
  if (spawner_trouble_) return tl::unexpected(unavailable(*spawner_trouble_));
  const policies::Session& quota = (*kit)->plan->policy.session;
  const auto open_now = std::count_if(entries_.begin(), entries_.end(), [&](const auto& one) {
    return one.second->kit == *kit && one.second->info.status == Container::Status::kRunning;
  });
  if (static_cast<std::uint64_t>(open_now) + (*kit)->opening >= quota.max_sessions)
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
  entry->dies_at = now + std::chrono::duration_cast<std::chrono::seconds>(quota.lifetime).count();
  return entry;
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
  return (*found)->info;
}

Answer<Listing<Container>> Sessions::list(const Tenant& tenant, const Page& page,
                                          std::string_view name) {
  std::vector<const Entry*> own;
  for (const auto& [id, one] : entries_)
    if (one->tenant == tenant && (name.empty() || one->info.name == name)) own.push_back(one.get());
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

void Sessions::measure(Metrics& metrics) const {
  metrics.pools.clear();
  for (const auto& [name, kit] : kits_)
    metrics.pools[name] = {kit->warm.size(), kit->starting.size(), kit->waiting.size()};
}

void Sessions::shutdown(const std::string& why) {
  for (auto& [id, one] : entries_)
    if (const auto session = std::exchange(one->session, nullptr))
      session->close(Word::kKilled, why);
}

}  // namespace runner
