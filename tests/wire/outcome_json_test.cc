#include "runner/wire/outcome_json.h"

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/wire/golden.h"

using namespace runner;

namespace {

void check_golden(const std::string& name, const std::string& text) {
  wire_test::check_golden(name + ".json", text + "\n");
}

wire::Report plain_report() {
  wire::Report report;
  report.policy = "standard";
  report.language = "python";
  report.outcome.usage = {jail::Millis{41}, jail::Millis{30}, jail::mib(9),
                          jail::Enforcer::kCgroupV1};
  return report;
}

}  // namespace

TEST_CASE("a plain success") {
  wire::Report report = plain_report();
  report.out = "1.5 kWh\n";
  report.outcome.status = 0;
  report.outcome.out.produced = 8;
  const std::vector<wire::LimitLine> limits = {
      {"memory", "512M", jail::mib(512).value, "bytes", "cgroup v1"},
      {"wall_time", "10s", 10'000, "ms", "sandglass"}};
  report.limits = limits;
  check_golden("ok", wire::to_json(report));
}

TEST_CASE("a timeout with refused calls and files") {
  wire::Report report = plain_report();
  report.outcome.word = Word::kTimedOut;
  report.outcome.exit_code = 124;
  report.outcome.signal = SIGKILL;
  report.outcome.text = "it ran for longer than the wall-clock limit of 10s";
  report.outcome.limit = LimitHit{"wall_time", "10s", 10'000, 10'012, "ms"};
  const std::vector<DeniedEntry> denied = {
      {"socket", "AF_INET, SOCK_STREAM", 3, "network", "[syscalls] allow = [\"@network\"]"}};
  report.denied = denied;
  report.denied_total = 3;
  Harvest harvest;
  harvest.written = {{"plot.png", jail::Bytes{4711}}, {"caf\xc3\xa9", jail::Bytes{1}}};
  harvest.skipped = {{"\xff\n\x1b", "a FIFO"}};
  harvest.skipped_total = 1;
  report.files = &harvest;
  check_golden("timed_out", wire::to_json(report));
}

TEST_CASE("output that is not UTF-8, and a cap that cuts a character") {
  wire::Report report = plain_report();
  report.out = "\xff\xfe\x7f snow\xe2\x98\x83 \xf0\x9d\x84\x9e";
  report.err = "cut \xe2\x98";
  report.outcome.err = {100, true};
  check_golden("binary", wire::to_json(report));
}

TEST_CASE("an error is not an outcome") {
  Error error{ErrorKind::kSetup, "mount[3] /opt/venv: EPERM",
              jail::SetupError{jail::Step::kMount, 3, EPERM}};
  check_golden("setup_error", wire::to_json(error));
  check_golden("usage_error", wire::to_json(Error{ErrorKind::kUsage, "no code given"}));
}

TEST_CASE("every byte of the JSON is printable ASCII") {
  wire::Report report = plain_report();
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  report.out = all;
  const std::string text = wire::to_json(report);
  for (const char c : text) CHECK((c >= 0x20 && c < 0x7f));
}
