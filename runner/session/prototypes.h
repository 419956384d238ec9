// Prototypes: one for each policy whose Python sessions start by joining. Starts them, knows which
// libraries they have and lack, and starts anew what has died. One event loop, its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policies/policy.h"
#include "runner/error.h"
#include "runner/session/home.h"
#include "runner/session/launcher.h"

namespace runner {

struct Missing {
  std::string module;
  std::string reason;
};

class PrototypeKeeper {
 public:
  // `changed` is called with it when it is ready, and when it has been lost.
  PrototypeKeeper(boost::asio::io_context& io, Launcher& launcher, const Home& home,
                  const policies::Policy& policy, std::function<void(PrototypeKeeper&)> changed);

  Result<void> start();
  // The spawner has died, and it with it: starts anew, now or when that is possible.
  void restart();
  // The launcher's news.
  void ended(std::uint32_t id, int wait_status);

  [[nodiscard]] bool is_ready() const { return ready_; }
  // Orders can be sent: it is ready, or will serve them when it is.
  [[nodiscard]] bool is_up() const { return up_; }
  // It has died at its start again and again.
  [[nodiscard]] bool is_hopeless() const { return !up_ && failures_ > 3; }
  [[nodiscard]] std::uint32_t id() const { return id_; }
  // Libraries of the policy's list that could not be loaded. Once ready.
  [[nodiscard]] const std::vector<Missing>& missing() const { return missing_; }
  // Why there is none, while there is none.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  void wait();
  void read_some();
  void take(const std::string& line);
  void start_again();

  boost::asio::io_context& io_;
  Launcher& launcher_;
  const Home& home_;
  const policies::Policy policy_;
  std::function<void(PrototypeKeeper&)> changed_;
  std::uint32_t id_ = 0;
  bool ready_ = false;
  bool up_ = false;
  int failures_ = 0;  // in a row
  std::string trouble_ = "it is being started";
  std::vector<Missing> missing_;
  std::unique_ptr<boost::asio::posix::stream_descriptor> news_;
  std::string line_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace runner
