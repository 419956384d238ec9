#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>

#include "policies/compile.h"
#include "policies/narrow.h"
#include "runner/service/sessions_inner.h"
#include "runner/session/driver.h"
#include "runner/session/rules.h"
#include "runner/text.h"

namespace runner {

using Kind = Refusal::Kind;

Answer<std::shared_ptr<Sessions::Kit>> Sessions::kit_for(const std::string& name,
                                                         const std::string& language) {
  if (const auto known = kits_.find({name, language}); known != kits_.end()) return known->second;
  if (!library_) return refuse(Kind::kUnavailable, "the policies cannot be read on this host");
  // By name only: a path is the operator's word, not a client's.
  const std::vector<std::string> names = library_->names();
  const bool shipped = std::find(names.begin(), names.end(), name) != names.end();
  if (!shipped && name != options_.default_policy)
    return refuse(Kind::kInvalid, "no policy " + printable(name), "policy");
  const auto policy = library_->find(name);
  if (!policy) return refuse(Kind::kUnavailable, "the policy cannot be read", "policy");
  if (policy->mode == policies::Mode::kRestricted)
    return refuse(Kind::kInvalid,
                  "the policy " + printable(name) + " starts no process; use /v1/evaluate",
                  "policy");
  if (!has_driver(language) || !policy->interpreters.contains(language))
    return refuse(Kind::kInvalid,
                  "no sessions in " + printable(language) + " under the policy " + printable(name),
                  "language");
  auto kit = make_kit(*policy, language);
  if (kit) kits_[{name, language}] = *kit;
  return kit;
}

Answer<std::shared_ptr<Sessions::Kit>> Sessions::make_kit(const policies::Policy& policy,
                                                          const std::string& language) {
  auto kit = std::make_shared<Kit>();
  Refusal refusal;
  kit->plan = make_plan(policy, language, kit.get(), refusal);
  if (!kit->plan) return tl::unexpected(refusal);
  if (kit->plan->command) return kit;
  kit->prototype = make_prototype(policy, *kit);
  if (auto started = kit->prototype->start(); !started)
    return tl::unexpected(unavailable(started.error()));
  return kit;
}

std::unique_ptr<PrototypeKeeper> Sessions::make_prototype(const policies::Policy& policy,
                                                          Kit& kit) {
  return std::make_unique<PrototypeKeeper>(
      io_, *launcher_, home_, policy,
      [this, &kit](PrototypeKeeper& which) { prototype_changed(kit, which); });
}

void Sessions::prototype_changed(Kit& kit, const PrototypeKeeper& which) {
  // An heir that dies at its start is started again, later and later; meanwhile the old one serves.
  if (&which == kit.heir.get()) return which.is_ready() ? succeed(kit) : void();
  const bool is_news = which.is_ready() || which.is_hopeless();
  if (is_news && options_.preloaded) options_.preloaded(preload_of(kit));
  if (which.is_hopeless()) return give_up(kit);
  if (which.is_up()) serve_waiting(kit);
}

// The one to join from now; 0: none.
std::uint32_t Sessions::prototype_for_one(Kit& kit) {
  if (!kit.prototype) return 0;
  if (++kit.joined > options_.payloads_each && !kit.heir && kit.prototype->is_ready()) {
    kit.joined = 0;
    kit.heir = make_prototype(kit.plan->policy, kit);
    if (!kit.heir->start()) kit.heir.reset();
  }
  return kit.prototype->id();
}

// From now on the heir is joined. The old one goes when nothing can be on its way to it any more;
// its payloads live on.
void Sessions::succeed(Kit& kit) {
  constexpr std::chrono::seconds kLastOrders{5};
  const std::uint32_t old = kit.prototype->id();
  kit.prototype = std::exchange(kit.heir, nullptr);
  kit.joined = 0;
  const auto timer = std::make_shared<boost::asio::steady_timer>(io_, kLastOrders);
  timer->async_wait([this, old, timer, alive = std::weak_ptr(alive_)](const auto& error) {
    if (!error && !alive.expired()) launcher_->drop_prototype(old);
  });
  serve_waiting(kit);
}

std::shared_ptr<const SessionPlan> Sessions::make_plan(const policies::Policy& policy,
                                                       const std::string& language, Kit* kit,
                                                       Refusal& refusal) {
  auto spec = policies::to_spec(policy, library_->syscalls(), {});
  if (!spec) {
    refusal = {Kind::kUnavailable, "the policy cannot be used on this host", "policy", {}};
    return nullptr;
  }
  spec->start = jail::Start::kJoin;
  spec->totals.cpu_time = jail::Millis(0);  // counted per execution
  spec->code_dir.clear();                   // code comes by the channel
  auto made = std::make_shared<SessionPlan>();
  made->policy = policy;
  made->language = language;
  const policies::Interpreter& interpreter = policy.interpreters.at(language);
  if (language != "python" || interpreter.start == policies::Start::kExec) {
    auto command = put_driver(*spec, home_, policy, language);
    if (!command) {
      refusal = unavailable(command.error());
      return nullptr;
    }
    made->command = std::move(*command);
  }
  auto plan = jail::make_plan(*spec);
  if (!plan) {
    refusal = unavailable(Error{ErrorKind::kSetup, "", plan.error()});
    return nullptr;
  }
  made->plan = std::move(*plan);
  made->rule_of = [policy, this](const jail::Denied& call) {
    return rule_for(policy, library_->syscalls(), call);
  };
  made->prototype = [this, kit] { return prototype_for_one(*kit); };
  return made;
}

Answer<std::shared_ptr<const SessionPlan>> Sessions::narrowed(Kit& kit, jail::Bytes memory) {
  policies::Wish wish;
  wish.memory = memory;
  auto policy = policies::narrow(kit.plan->policy, wish);
  if (!policy) return refuse(Kind::kInvalid, policy.error().text, "memory_limit");
  Refusal refusal;
  auto plan = make_plan(*policy, kit.plan->language, &kit, refusal);
  if (!plan) return tl::unexpected(refusal);
  return plan;
}

// ------------------------------------------------------------------------------------------------
// Idle interpreters, ahead of those who will want one.

void Sessions::give(Kit& kit, Waiting to) {
  kit.waiting.push_back(std::move(to));
  if (kit.prototype && kit.prototype->is_hopeless()) return give_up(kit);
  serve_waiting(kit);
}

void Sessions::serve_waiting(Kit& kit) {
  std::erase_if(kit.warm, [](const auto& idle) { return idle->is_over(); });
  while (!kit.waiting.empty() && !kit.warm.empty()) {
    kit.given.emplace_back(std::move(kit.waiting.front()), std::move(kit.warm.back()));
    kit.waiting.pop_front();
    kit.warm.pop_back();
    boost::asio::post(io_, [&kit, alive = std::weak_ptr(alive_)] {
      if (alive.expired()) return;
      auto [to, interpreter] = std::move(kit.given.front());
      kit.given.pop_front();
      to(std::move(interpreter));
    });
  }
  // While the prototype is being started anew, they wait for it.
  if (kit.prototype && !kit.prototype->is_up()) return;
  while (kit.starting.size() < kit.waiting.size()) start_warm(kit);
  refill(kit);
}

// The prototype dies at each start.
void Sessions::give_up(Kit& kit) {
  turn_away(kit, Error{ErrorKind::kHost, kit.prototype->trouble(), {}});
}

// No interpreter will come: those who wait are told so.
void Sessions::turn_away(Kit& kit, const Error& why) {
  for (auto& to : std::exchange(kit.waiting, {}))
    boost::asio::post(io_, [to = std::move(to), why] { to(tl::unexpected(why)); });
}

// An import error may name files of the host: then its kind is all that is told.
Preload Sessions::preload_of(const Kit& kit) {
  Preload preload;
  preload.policy = kit.plan->policy.name;
  preload.language = kit.plan->language;
  preload.wanted = kit.plan->policy.interpreters.at(preload.language).preload;
  if (kit.prototype->is_hopeless()) {
    preload.state = Preload::State::kFailed;
    preload.trouble = kit.prototype->trouble();
  }
  if (!kit.prototype->is_ready()) return preload;
  preload.state = Preload::State::kReady;
  for (const Missing& one : kit.prototype->missing()) {
    const bool names_files = one.reason.find('/') != std::string::npos;
    preload.missing.push_back(
        {one.module, names_files ? one.reason.substr(0, one.reason.find(':')) : one.reason});
  }
  return preload;
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
    if (kit.prototype && !kit.prototype->is_up()) return;
    if (kit.warm.size() + kit.starting.size() < options_.warm) start_warm(kit);
  });
}

// A tightened container has a jail of its own, which no pool holds.
void Sessions::start_own(const SessionPlan& plan, const Waiting& to) { start(starting_, plan, to); }

void Sessions::start_warm(Kit& kit) {
  start(kit.starting, *kit.plan, [this, &kit](Result<std::unique_ptr<Interpreter>> started) {
    if (started) {
      // Nobody waits for it: what a first execution is slow by can be done with now.
      if (kit.waiting.empty() && kit.plan->language == "python")
        (*started)->send(R"({"op":"rehearse"})");
      kit.warm.push_back(std::move(*started));
      return serve_waiting(kit);
    }
    if (kit.waiting.empty()) return;
    const auto to = std::move(kit.waiting.front());
    kit.waiting.pop_front();
    to(tl::unexpected(started.error()));
  });
}

// It is in the list until it is ready or has ended, which is told in a later turn of the loop: its
// events are about to change hands. Who is taken from the list before is not told.
void Sessions::start(Starting& list, const SessionPlan& plan, const Waiting& to) {
  auto interpreter = std::make_unique<Interpreter>(io_, *launcher_);
  Interpreter* const one = interpreter.get();
  const auto tell = [this, &list, one, to,
                     alive = std::weak_ptr(alive_)](std::optional<Error> why) {
    boost::asio::post(io_, [&list, one, to, alive, why = std::move(why)] {
      if (alive.expired()) return;
      const auto it = std::find_if(list.begin(), list.end(),
                                   [&](const auto& other) { return other.get() == one; });
      if (it == list.end()) return;
      std::unique_ptr<Interpreter> taken = std::move(*it);
      list.erase(it);
      if (why) return to(tl::unexpected(*why));
      to(std::move(taken));
    });
  };
  Interpreter::Events events;
  events.ready = [tell] { tell(std::nullopt); };
  events.ended = [tell](const Result<jail::Ended>& how) {
    tell(how ? Error{ErrorKind::kSpawner, "it ended at its start", {}} : how.error());
  };
  interpreter->set_events(std::move(events));
  list.push_back(std::move(interpreter));
  plan.join(*one, 0);
}

}  // namespace runner
