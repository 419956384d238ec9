#include <catch2/catch.hpp>

#include "runner/metrics.h"

using namespace runner;

namespace {

bool has(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("every way to end has a counter of its own, from the start") {
  Metrics metrics;
  const std::string before = to_prometheus(metrics);
  for (const char* name :
       {"ok", "failures", "refusals", "declines", "timeouts", "errors", "stopped"})
    for (const char* of : {"execution", "create", "evaluation"})
      CHECK(has(before, "sandglass_" + std::string(name) + "_total{of=\"" + of + "\"} 0"));
  metrics.execution_endings["failure"] = 2;
  metrics.execution_endings["timeout"] = 1;
  metrics.evaluation_endings["decline"] = 3;
  metrics.create_endings["refusal"] = 4;
  const std::string after = to_prometheus(metrics);
  CHECK(has(after, "sandglass_failures_total{of=\"execution\"} 2"));
  CHECK(has(after, "sandglass_failures_total{of=\"evaluation\"} 0"));
  CHECK(has(after, "sandglass_timeouts_total{of=\"execution\"} 1"));
  CHECK(has(after, "sandglass_declines_total{of=\"evaluation\"} 3"));
  CHECK(has(after, "sandglass_refusals_total{of=\"create\"} 4"));
}

TEST_CASE("histograms are cumulative, and a label holds any name") {
  Metrics metrics;
  metrics.execute_duration.add(0.0004);
  metrics.execute_duration.add(0.02);
  metrics.execute_duration.add(100);
  metrics.pools[{"a\"\\\n", "python"}] = {1, 2, 3};
  const std::string text = to_prometheus(metrics);
  CHECK(has(text, "sandglass_execute_duration_seconds_bucket{le=\"0.0005\"} 1"));
  CHECK(has(text, "sandglass_execute_duration_seconds_bucket{le=\"0.025\"} 2"));
  CHECK(has(text, "sandglass_execute_duration_seconds_bucket{le=\"60\"} 2"));
  CHECK(has(text, "sandglass_execute_duration_seconds_bucket{le=\"+Inf\"} 3"));
  CHECK(has(text, "sandglass_execute_duration_seconds_count 3"));
  CHECK(has(text, "sandglass_create_duration_seconds_count 0"));
  CHECK(has(text,
            R"(sandglass_pool_interpreters{policy="a\"\\\n",language="python",state="ready"} 1)"));
  CHECK(has(
      text,
      R"(sandglass_pool_interpreters{policy="a\"\\\n",language="python",state="waited_for"} 3)"));
  CHECK(text.find("trace_records_total") == std::string::npos);
  metrics.trace = TraceLevel{};
  metrics.trace->lost = 7;
  CHECK(has(to_prometheus(metrics), "sandglass_trace_lost_total 7"));
}
