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

void duration(std::string& out, const std::string& name, const char* help,
              const DurationHistogram& histogram) {
  head(out, name, "histogram", help);
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

// A label's value: a policy's name may be anything its file says.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

void door(std::string& out, const Metrics& m) {
  one(out, "http_connections_accepted_total", "counter", "Connections accepted.",
      m.connections_accepted);
  one(out, "http_connections", "gauge", "Connections open now.", m.connections_open);
  one(out, "http_connections_evicted_total", "counter", "Idle connections closed to make room.",
      m.connections_evicted);
  one(out, "http_streams", "gauge", "Executions being streamed now.", m.streams_open);
  one(out, "http_streams_cut_total", "counter", "Streams cut since their client did not read.",
      m.streams_cut);
  one(out, "http_waiting_bytes", "gauge", "Bytes of replies that wait for their clients.",
      m.bytes_waiting);
  one(out, "http_replies_cut_total", "counter",
      "Replies cut since their clients were slow and others needed the memory.", m.replies_cut);
  one(out, "http_received_bytes_total", "counter", "Bytes of request bodies.", m.bytes_in);
  one(out, "http_sent_bytes_total", "counter", "Bytes sent.", m.bytes_out);
  head(out, "http_replies_total", "counter", "Replies by status.");
  for (const auto& [status, count] : m.replies) {
    out += "sandglass_http_replies_total{status=\"" + std::to_string(status) + "\"} " +
           std::to_string(count) + "\n";
  }
  duration(out, "http_request_duration_seconds",
           "From a request's last byte read to its reply's last byte written.", m.request_duration);
}

struct EndingCounter {
  const char* ending;
  const char* name;
  const char* help;
};
constexpr std::array<EndingCounter, 7> kEndingCounters = {{
    {"ok", "ok_total", "Ended well."},
    {"failure", "failures_total", "The code failed: it raised, exited with a status or crashed."},
    {"refusal", "refusals_total", "The sandbox said no: to the request, a call or a resource."},
    {"decline", "declines_total", "The model said NONE or nothing."},
    {"timeout", "timeouts_total", "The time limit was met."},
    {"error", "errors_total", "Sandglass or its host failed."},
    {"stopped", "stopped_total", "Somebody ended it: interrupt, deletion, expiry, shutdown."},
}};

// Every counter is there from the start, at zero: a rate can be taken of it.
void endings(std::string& out, const Metrics& m) {
  const auto count = [](const std::map<std::string, std::uint64_t>& of, const char* ending) {
    const auto found = of.find(ending);
    return std::to_string(found == of.end() ? 0 : found->second);
  };
  for (const EndingCounter& counter : kEndingCounters) {
    head(out, counter.name, "counter", counter.help);
    const std::string name = std::string("sandglass_") + counter.name;
    out += name + "{of=\"execution\"} " + count(m.execution_endings, counter.ending) + "\n";
    out += name + "{of=\"create\"} " + count(m.create_endings, counter.ending) + "\n";
    out += name + "{of=\"evaluation\"} " + count(m.evaluation_endings, counter.ending) + "\n";
  }
  one(out, "refused_calls_total", "counter",
      "System calls that a policy refused, whatever became of the code.", m.refused_calls);
}

void sessions(std::string& out, const Metrics& m) {
  one(out, "sessions", "gauge", "Containers running now.", m.sessions_open);
  one(out, "sessions_created_total", "counter", "Containers made.", m.sessions_created);
  one(out, "sessions_expired_total", "counter", "Containers expired.", m.sessions_expired);
  one(out, "executions_running", "gauge", "Executions running now.", m.executions_running);
  head(out, "executions_total", "counter", "Executions ended, by outcome.");
  for (const auto& [outcome, count] : m.executions) {
    out +=
        "sandglass_executions_total{outcome=\"" + outcome + "\"} " + std::to_string(count) + "\n";
  }
  duration(out, "create_duration_seconds", "From the request for a container to its id.",
           m.create_duration);
  duration(out, "execute_duration_seconds",
           "From the request for an execution to its outcome, with the wait for its turn.",
           m.execute_duration);
}

void pools(std::string& out, const Metrics& m) {
  head(out, "pool_interpreters", "gauge",
       "Idle interpreters by state, and requests waiting for one.");
  for (const auto& [name, level] : m.pools) {
    const std::string labels =
        "{policy=" + quoted(name.first) + ",language=" + quoted(name.second) + ",state=\"";
    const auto line = [&](const char* state, std::uint64_t value) {
      out += "sandglass_pool_interpreters" + labels + state + "\"} " + std::to_string(value) + "\n";
    };
    line("ready", level.ready);
    line("starting", level.starting);
    line("waited_for", level.waiting);
  }
}

void trace_levels(std::string& out, const TraceLevel& t) {
  one(out, "trace_records_total", "counter", "Records written.", t.records);
  one(out, "trace_lost_total", "counter",
      "Records that could not be written, or went with a file that somebody removed or cut.",
      t.lost);
  one(out, "trace_unsynced_total", "counter",
      "Records that may not outlive the machine, since fdatasync(2) failed.", t.unsynced);
  one(out, "trace_aged_out_total", "counter", "Records that went with the oldest file.",
      t.aged_out);
  one(out, "trace_sync_failures_total", "counter", "fdatasync(2) that failed.", t.sync_failures);
  one(out, "trace_bytes", "gauge", "Bytes of the trace's files.", t.bytes);
  one(out, "trace_input_bytes", "gauge", "Bytes of the inputs that are kept.", t.input_bytes);
  one(out, "trace_inputs_lost_total", "counter", "Inputs that could not be kept.", t.inputs_lost);
  one(out, "trace_inputs_removed_total", "counter", "Inputs removed over their time or size.",
      t.inputs_removed);
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
  door(out, m);
  sessions(out, m);
  endings(out, m);
  pools(out, m);
  if (m.trace) trace_levels(out, *m.trace);
  return out;
}

}  // namespace runner
