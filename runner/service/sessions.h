// All containers of one server: making, finding, expiry, quotas, and the pools that make the first
// answer quick. One event loop, its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "policies/load.h"
#include "runner/metrics.h"
#include "runner/service.h"
#include "runner/service/session.h"
#include "runner/session/home.h"
#include "runner/session/launcher.h"
#include "runner/session/prototypes.h"

namespace runner {

struct SessionsOptions {
  std::string default_policy = "standard";
  std::size_t warm = 4;  // joined, idle interpreters kept ready for each policy that is used
  // Payloads share their prototype's hash seed and address layout: after so many, a fresh one.
  std::size_t payloads_each = 5000;
  std::chrono::hours keep_expired{24};
  Metrics* metrics = nullptr;
  std::function<void(const Preload&)> preloaded = {};
  // Tests move them. Times are told by the first, and measured by the second: setting the clock
  // makes nothing expire.
  std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
  std::function<std::chrono::steady_clock::time_point()> steady = std::chrono::steady_clock::now;
};

class Sessions final : public Service {
 public:
  Sessions(boost::asio::io_context& io, const Home& home, SessionsOptions options);
  ~Sessions() override;
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;
  Sessions(Sessions&&) = delete;
  Sessions& operator=(Sessions&&) = delete;

  // Everything that runs ends as `killed`, with this reason, told from the loop.
  void shutdown(const std::string& why);
  // Expires what is due. Called by a timer; tests call it after moving the clock.
  void sweep();

  void create(const Tenant& tenant, const ContainerWish& wish, ContainerDone done) override;
  Answer<Container> find(const Tenant& tenant, std::string_view id) override;
  Answer<Listing<Container>> list(const Tenant& tenant, const Page& page,
                                  std::string_view name) override;
  Answer<void> remove(const Tenant& tenant, std::string_view id) override;
  Answer<std::unique_ptr<ExecutionHandle>> execute(const Tenant& tenant, std::string_view id,
                                                   ExecuteWish wish, ExecutionSink sink) override;
  Answer<std::unique_ptr<ExecutionHandle>> execute_once(const Tenant& tenant, const OnceWish& wish,
                                                        const ExecutionSink& sink) override;
  Answer<void> interrupt(const Tenant& tenant, std::string_view id) override;
  void put_file(const Tenant& tenant, std::string_view id, const std::string& name, Content content,
                FileDone done) override;
  void copy_file(const Tenant& tenant, std::string_view id, std::string_view file_id,
                 const FileDone& done) override;
  Answer<Listing<File>> files(const Tenant& tenant, std::string_view id, const Page& page) override;
  Answer<File> file(const Tenant& tenant, std::string_view id, std::string_view file_id) override;
  Answer<File> file_at(const Tenant& tenant, std::string_view id, std::string_view path) override;
  Answer<std::string> content(const Tenant& tenant, std::string_view id,
                              std::string_view file_id) override;
  Answer<void> remove_file(const Tenant& tenant, std::string_view id,
                           std::string_view file_id) override;
  [[nodiscard]] std::vector<Preload> preloads() const override;
  [[nodiscard]] jail::Bytes max_file() const override;
  void measure(Metrics& metrics) const override;

 private:
  // A policy in use: its plan, its prototype, its idle interpreters, and who waits for one.
  struct Kit;
  struct Entry;
  using Steady = std::chrono::steady_clock::time_point;
  enum class Shown : std::uint8_t { kListed, kNever };  // kNever: a one-shot's
  using Waiting = std::function<void(Result<std::unique_ptr<Interpreter>>)>;
  using Starting = std::vector<std::unique_ptr<Interpreter>>;

  Answer<std::shared_ptr<Kit>> kit_for(const std::string& policy, const std::string& language);
  Answer<std::shared_ptr<Kit>> make_kit(const policies::Policy& policy,
                                        const std::string& language);
  Answer<std::shared_ptr<const SessionPlan>> narrowed(Kit& kit, jail::Bytes memory);
  std::shared_ptr<const SessionPlan> make_plan(const policies::Policy& policy,
                                               const std::string& language, Kit* kit,
                                               Refusal& refusal);
  void create(const Tenant& tenant, const ContainerWish& wish, Shown shown,
              const ContainerDone& done);
  Finished with_content(const Tenant& tenant, const std::string& id, Finished finished);
  static Preload preload_of(const Kit& kit);
  Result<void> start_spawner();
  void revive();
  void lose_spawner(const Error& why);
  void give(Kit& kit, Waiting to);
  void refill(Kit& kit);
  void start_warm(Kit& kit);
  void start_own(const SessionPlan& plan, const Waiting& to);
  void start(Starting& list, const SessionPlan& plan, const Waiting& to);
  void serve_waiting(Kit& kit);
  void give_up(Kit& kit);
  std::unique_ptr<PrototypeKeeper> make_prototype(const policies::Policy& policy, Kit& kit);
  void prototype_changed(Kit& kit, const PrototypeKeeper& which);
  std::uint32_t prototype_for_one(Kit& kit);
  void succeed(Kit& kit);
  void turn_away(Kit& kit, const Error& why);
  Answer<std::shared_ptr<Entry>> make_entry(const Tenant& tenant, const ContainerWish& wish);
  Answer<std::shared_ptr<Entry>> entry(const Tenant& tenant, std::string_view id);
  Answer<std::shared_ptr<Entry>> live(const Tenant& tenant, std::string_view id);
  void open(const std::shared_ptr<Entry>& entry, std::unique_ptr<Interpreter> interpreter);
  std::int64_t touch(Entry& entry);
  void expire(Entry& entry, const std::string& why);
  [[nodiscard]] Container told(const Entry& entry) const;
  [[nodiscard]] std::int64_t seconds() const;
  [[nodiscard]] std::int64_t clock_offset() const;

  boost::asio::io_context& io_;
  const Home home_;
  SessionsOptions options_;
  tl::expected<policies::Library, policies::Error> library_;
  std::unique_ptr<Launcher> launcher_;
  std::chrono::steady_clock::time_point spawner_since_;
  boost::asio::steady_timer reviving_;
  Hasher hasher_;
  Worker writer_;  // of files that are put in
  std::optional<Error> spawner_trouble_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Kit>> kits_;  // policy, language
  std::map<std::string, std::shared_ptr<Entry>, std::less<>> entries_;        // by id
  Starting starting_;  // of tightened containers
  std::uint64_t last_order_ = 0;
  boost::asio::steady_timer sweeping_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace runner
