#include "runner/metrics.h"

#include <cstdio>

namespace runner {
namespace {

std::string number(double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.9g", value);
  return buffer.data();
}

void head(std::string& out, const std::string& name, const char* type, const char* help) {
  out += "# HELP sandglass_" + name + " " + help + "\n# TYPE sandglass_" + name + " " + type + "\n";
}

void one(std::string& out, const std::string& name, const char* type, const char* help,
         std::uint64_t value) {
  head(out, name, type, help);
  out += "sandglass_" + name + " " + std::to_string(value) + "\n";
}

void duration(std::string& out, const DurationHistogram& histogram) {
  const std::string name = "http_request_duration_seconds";
  head(out, name, "histogram", "From a request's last byte read to its reply's last byte written.");
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    below += histogram.counts.at(i);
    const bool is_last = i == DurationHistogram::kBounds.size();
    const std::string bound = is_last ? "+Inf" : number(DurationHistogram::kBounds.at(i));
    out += "sandglass_" + name + "_bucket{le=\"" + bound + "\"} " + std::to_string(below) + "\n";
  }
  out += "sandglass_" + name + "_sum " + number(histogram.sum) + "\n";
  out += "sandglass_" + name + "_count " + std::to_string(below) + "\n";
}

}  // namespace

void DurationHistogram::add(double seconds) {
  std::size_t i = 0;
  while (i < kBounds.size() && seconds > kBounds.at(i)) ++i;
  ++counts.at(i);
  sum += seconds;
}

std::string to_prometheus(const Metrics& m) {
  std::string out;
  one(out, "http_connections_accepted_total", "counter", "Connections accepted.",
      m.connections_accepted);
  one(out, "http_connections", "gauge", "Connections open now.", m.connections_open);
  one(out, "http_connections_evicted_total", "counter", "Idle connections closed to make room.",
      m.connections_evicted);
  one(out, "http_streams", "gauge", "Executions being streamed now.", m.streams_open);
  one(out, "http_streams_cut_total", "counter", "Streams cut since their client did not read.",
      m.streams_cut);
  one(out, "http_received_bytes_total", "counter", "Bytes of request bodies.", m.bytes_in);
  one(out, "http_sent_bytes_total", "counter", "Bytes sent.", m.bytes_out);
  head(out, "http_replies_total", "counter", "Replies by status.");
  for (const auto& [status, count] : m.replies) {
    out += "sandglass_http_replies_total{status=\"" + std::to_string(status) + "\"} " +
           std::to_string(count) + "\n";
  }
  duration(out, m.request_duration);
  one(out, "sessions", "gauge", "Containers running now.", m.sessions_open);
  one(out, "sessions_created_total", "counter", "Containers made.", m.sessions_created);
  one(out, "sessions_expired_total", "counter", "Containers expired.", m.sessions_expired);
  one(out, "executions_running", "gauge", "Executions running now.", m.executions_running);
  head(out, "executions_total", "counter", "Executions ended, by outcome.");
  for (const auto& [outcome, count] : m.executions) {
    out +=
        "sandglass_executions_total{outcome=\"" + outcome + "\"} " + std::to_string(count) + "\n";
  }
  return out;
}

}  // namespace runner
