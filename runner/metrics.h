// What the server counts, and how Prometheus reads it. Plain numbers without locks: they belong to
// the event loop's thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace runner {

// Seconds a request took, from its last byte read to its last byte written.
struct DurationHistogram {
  static constexpr std::array<double, 8> kBounds = {0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60};
  std::array<std::uint64_t, kBounds.size() + 1> counts{};  // the last: above all bounds
  double sum = 0;

  void add(double seconds);
};

struct Metrics {
  // The door's.
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_open = 0;
  std::uint64_t connections_evicted = 0;  // idle ones that had to make room
  std::uint64_t streams_open = 0;
  std::uint64_t streams_cut = 0;  // too slow for too long
  std::uint64_t bytes_in = 0;     // of bodies
  std::uint64_t bytes_out = 0;
  std::map<unsigned, std::uint64_t> replies;  // by status
  DurationHistogram request_duration;
  // The service's.
  std::uint64_t sessions_open = 0;
  std::uint64_t sessions_created = 0;
  std::uint64_t sessions_expired = 0;
  std::uint64_t executions_running = 0;
  std::map<std::string, std::uint64_t> executions;  // ended, by outcome
};

// Text exposition format 0.0.4.
std::string to_prometheus(const Metrics& metrics);

}  // namespace runner
