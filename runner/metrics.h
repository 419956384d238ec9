// What the server counts, and how Prometheus reads it. Plain numbers without locks: they belong to
// the event loop's thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace runner {

// Seconds that something took.
struct DurationHistogram {
  static constexpr std::array<double, 9> kBounds = {0.0005, 0.001, 0.005, 0.025, 0.1,
                                                    0.5,    2.5,   10,    60};
  std::array<std::uint64_t, kBounds.size() + 1> counts{};  // the last: above all bounds
  double sum = 0;

  void add(double seconds);
};

// Idle interpreters of one policy and language.
struct PoolLevel {
  std::uint64_t ready = 0;
  std::uint64_t starting = 0;
  std::uint64_t waiting = 0;  // requests that wait for one
};

// What the trace has to say; see trace/trace.h.
struct TraceLevel {
  std::uint64_t records = 0;
  std::uint64_t lost = 0;
  std::uint64_t aged_out = 0;
  std::uint64_t unsynced = 0;
  std::uint64_t sync_failures = 0;
  std::uint64_t bytes = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t inputs_lost = 0;
  std::uint64_t inputs_removed = 0;
};

struct Metrics {
  // The door's.
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_open = 0;
  std::uint64_t connections_evicted = 0;  // idle ones that had to make room
  std::uint64_t streams_open = 0;
  std::uint64_t streams_cut = 0;    // too slow for too long
  std::uint64_t bytes_waiting = 0;  // of replies and streams, for clients to take them
  std::uint64_t replies_cut = 0;    // since their clients were slow and others needed the memory
  std::uint64_t bytes_in = 0;       // of bodies
  std::uint64_t bytes_out = 0;
  std::map<unsigned, std::uint64_t> replies;  // by status
  DurationHistogram request_duration;         // from its last byte read to its last byte written
  // The service's.
  std::uint64_t sessions_open = 0;
  std::uint64_t sessions_created = 0;
  std::uint64_t sessions_expired = 0;
  std::uint64_t executions_running = 0;
  std::map<std::string, std::uint64_t> executions;  // ended, by outcome
  // How executions and evaluations ended, in Ending's words; requests that were turned away count.
  std::map<std::string, std::uint64_t> create_endings;  // of containers that were not made
  std::map<std::string, std::uint64_t> execution_endings;
  std::map<std::string, std::uint64_t> evaluation_endings;
  std::uint64_t refused_calls = 0;  // system calls, whatever became of the code
  DurationHistogram create_duration;
  DurationHistogram execute_duration;  // with the time it waited for its turn
  std::map<std::pair<std::string, std::string>, PoolLevel> pools;  // by policy and language
  std::optional<TraceLevel> trace;
};

// Text exposition format 0.0.4.
std::string to_prometheus(const Metrics& metrics);

}  // namespace runner
