// What the subjects that make jails have in common: a spawner of their own, and the loop that talks
// to it on a thread of its own.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <string>
#include <thread>

#include "runner/reach/interrupt.h"
#include "runner/reach/jail_subject.h"
#include "runner/session/launcher.h"

namespace runner::reach {

class SpawnerSubject : public Subject {
 public:
  std::string name() const override { return plans_.full.policy.name; }
  std::string mode() const override { return mode_; }
  std::string helper(const Outside& /*outside*/) const override { return kHelperInside; }
  // Those of the door are none of a jail's; without Python in the policy, its probes are left out.
  bool can_run(const Probe& probe) const override;
  std::optional<Verdict> expected(const Probe& probe) const override;

  ~SpawnerSubject() override;
  SpawnerSubject(const SpawnerSubject&) = delete;
  SpawnerSubject& operator=(const SpawnerSubject&) = delete;
  SpawnerSubject(SpawnerSubject&&) = delete;
  SpawnerSubject& operator=(SpawnerSubject&&) = delete;

  // kSpawner: it cannot be started.
  Result<void> start_spawner();
  void start_loop();

 protected:
  // What is passed must outlive it. `mode`: "exec" or "join".
  SpawnerSubject(const Home& home, const JailPlans& plans, std::string mode)
      : home_(home), plans_(plans), mode_(std::move(mode)) {}
  // A derived destructor's first act: nothing of the loop's touches its members any more.
  void end_loop();
  // What comes of something that was begun in the loop; `stop` is called there, perhaps more than
  // once and perhaps too late, when we are told to end.
  template <class T, class Stop>
  T come_of(std::future<T>& future, const Stop& stop) {
    while (future.wait_for(kGlance) != std::future_status::ready)
      if (is_interrupted()) boost::asio::post(io_, stop);
    return future.get();
  }
  [[nodiscard]] jail::Hello hello() const { return launcher_.hello().value_or(jail::Hello{}); }

  const Home& home_;
  const JailPlans& plans_;
  std::string mode_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_ =
      boost::asio::make_work_guard(io_);
  Launcher launcher_{io_};
  std::thread thread_;
};

}  // namespace runner::reach
