// What waits in memory for clients to take it, of all connections together: clients that read
// slowly, however many, cost no more than this. The event loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>

#include "jail/units.h"
#include "runner/service.h"

namespace runner::http {

class Outgoing {
 public:
  using Clock = std::chrono::steady_clock;
  // Of one connection.
  struct Share {
    Tenant tenant;
    std::uint64_t bytes = 0;
    std::optional<Clock::time_point> whole_since;  // all of it is there, and the client's to take
    std::function<void()> cut;                     // ends the connection, not from inside a call
    bool is_cut = false;
  };
  using Place = std::list<Share>::iterator;

  // `patience`: who has had all of it for so long must make room for others.
  Outgoing(jail::Bytes most, std::chrono::milliseconds patience)
      : most_(most.value), patience_(patience) {}

  // The longest begun stands first.
  Place open(Share share) { return shares_.insert(shares_.end(), std::move(share)); }
  void set(Place place, std::uint64_t bytes);
  void close(Place place);

  enum class Need : std::uint8_t { kCanWait, kMust };
  // Room for so many more bytes, made if need be: of the tenant that holds most, whoever has had
  // its reply for longest is cut. Only after the patience, unless the need is kMust.
  bool make_room(std::uint64_t bytes, Need need);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t cut() const { return cut_; }

 private:
  bool cut_one(Need need);

  std::uint64_t most_;
  std::chrono::milliseconds patience_;
  std::list<Share> shares_;
  std::map<Tenant, std::uint64_t> by_tenant_;
  std::uint64_t bytes_ = 0;
  std::uint64_t cut_ = 0;
};

}  // namespace runner::http
