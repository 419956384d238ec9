// The spawner, as seen from an event loop: starts it, passes launches to it, hands its events to
// whom they belong, and notices when it is gone. One event loop, its thread.
//
// When the spawner dies, every launch that has not ended is told so (on_lost), and what the dead
// spawner could not clean up is swept. When this object goes, the spawner and all its jails go:
// shutdown() closes the socket and waits, so that nothing outlives our process.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jail/client.h"
#include "jail/fd.h"
#include "runner/error.h"

namespace runner {

// What one launch hears of. Either on_launched with an error, or on_launched, then on_denied at
// most once, then on_ended; or on_lost at any point. Nothing follows an end. Called from the loop;
// may call Launcher. Must not throw.
class LaunchListener {
 public:
  virtual void on_launched(jail::Launched launched) = 0;
  virtual void on_denied(std::vector<jail::Denied> denied) = 0;
  virtual void on_ended(const jail::Ended& ended) = 0;
  virtual void on_lost(const Error& error) = 0;
  // The answer to ask_usage().
  virtual void on_usage(const jail::Ended& /*so_far*/) {}

 protected:
  ~LaunchListener() = default;
};

class Launcher {
 public:
  explicit Launcher(boost::asio::io_context& io);
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  Launcher(Launcher&&) = delete;
  Launcher& operator=(Launcher&&) = delete;

  // Starts the spawner at `path` with an empty environment and no descriptor but its socket.
  // kSpawner if it cannot be started.
  Result<void> start(const std::string& path);

  // `listener` must live until its end or forget(). `kill_after` as in jail::send_launch. Returns
  // the launch's id.
  Result<std::uint64_t> launch(const jail::Fd& plan, const jail::Fd& command, jail::Stdio stdio,
                               std::span<const jail::Fd> inputs, LaunchListener& listener,
                               jail::Millis kill_after = jail::Millis(0));

  // Sessions. A prototype's end is told to `on_prototype_ended`; join(): `into` is the id of an
  // earlier join whose payload has ended and whose jail is to be used again, 0: a new jail. See
  // jail/client.h for the rest.
  using PrototypeEnded = std::function<void(std::uint32_t id, int wait_status)>;
  Result<std::uint32_t> start_prototype(const jail::Fd& command, jail::Stdio stdio,
                                        std::span<const jail::Fd> files);
  // It serves the orders that are on their way to it, and ends.
  void drop_prototype(std::uint32_t id);
  void on_prototype_ended(PrototypeEnded call) { prototype_ended_ = std::move(call); }
  // From the next start() on, what joins comes with a meter, where the host counts by cgroups: see
  // jail/meter.h. Without it arm() and ask_usage() do the same by way of the spawner.
  void use_meters() { wants_meters_ = true; }
  [[nodiscard]] jail::Meter meter_of(jail::MeterFiles files) const {
    return meters_.file().valid() ? jail::Meter(std::move(files), meters_) : jail::Meter();
  }
  // Called after every launch has been told that the spawner is gone; start() may be called again.
  void on_gone(std::function<void(const Error& why)> call) { gone_ = std::move(call); }
  Result<std::uint64_t> join(std::uint32_t prototype, const jail::Fd& plan, const jail::Fd& control,
                             jail::Stdio stdio, LaunchListener& listener, std::uint64_t into = 0,
                             const jail::Fd* command = nullptr);
  void arm(std::uint64_t id, jail::Millis cpu_time);
  void ask_usage(std::uint64_t id);
  void close_jail(std::uint64_t id);

  void interrupt(std::uint64_t id);  // SIGINT to the payload's process group
  void kill(std::uint64_t id);       // SIGKILL to the whole jail
  void forget(std::uint64_t id) { listeners_.erase(id); }

  // Absent until the spawner has said hello.
  [[nodiscard]] const std::optional<jail::Hello>& hello() const noexcept { return hello_; }

  // Two halves, so that a caller can do something useful between them. close(): no launch can be
  // made or heard of any more. shutdown(): also waits for the spawner to be gone (seconds at most,
  // then by SIGKILL).
  void close();
  void shutdown();

 private:
  struct Child;
  void wait();
  void receive_all();
  void dispatch(jail::Event event);
  void on_launched(jail::Launched launched);
  void lose(const Error& error);
  std::optional<Error> last_words();
  void share_meters();
  Error unsent(const jail::SetupError& error);
  [[nodiscard]] LaunchListener* find(std::uint64_t id) const;
  [[nodiscard]] LaunchListener* take(std::uint64_t id);

  boost::asio::io_context& io_;
  boost::asio::posix::stream_descriptor wait_;
  jail::Fd socket_;
  std::unique_ptr<Child> child_;
  std::optional<jail::Hello> hello_;
  bool wants_meters_ = false;
  jail::MeterMemory meters_;
  std::map<std::uint64_t, LaunchListener*> listeners_;
  std::uint64_t last_id_ = 0;
  std::uint32_t last_prototype_ = 0;
  PrototypeEnded prototype_ended_;
  std::function<void(const Error& why)> gone_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace runner
