// Using up what is the host's: processes, memory, descriptors, space, output, our attention.
#include <catch2/catch.hpp>

#include "tests/e2e/e2e.h"
#include "tests/escape/attack.h"
#include "tests/support/jail_client.h"

namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

json::object under(const std::string& policy, std::vector<std::string> options,
                   const std::vector<std::string>& command) {
  options.insert(options.begin(), {"--json", "--policy", policy});
  return e2e::document(e2e::run({.args = e2e::payload(options, command)}, 15s));
}

std::string said(const json::object& report) { return e2e::text(report, "stdout"); }

constexpr const char* kPolicies[] = {"tight", "standard", "loose"};

}  // namespace

TEST_CASE("processes") {
  e2e::require_jails();
  CHECK(said(under("tight", {"--processes=20"}, {"forks_forever"})) == "end EPERM\nchildren 0\n");
  for (const char* policy : {"standard", "loose"})
    CHECK(said(under(policy, {"--processes=20"}, {"forks_forever"})) ==
          "end EAGAIN\nchildren 19\n");
}

TEST_CASE("memory") {
  e2e::require_jails();
  for (const char* policy : kPolicies) {
    INFO(policy);
    const json::object report = under(policy, {"--memory=64M"}, {"fills_memory", "256", "1"});
    // With a cgroup it is killed; without, refused.
    if (e2e::text(report, "outcome") == "out_of_memory") {
      CHECK(report.at("exit_code") == 137);
      CHECK(report.at("usage").at("peak_memory_bytes").as_int64() <= 64 << 20);
    } else {
      CHECK(said(report) == "refused ENOMEM\n");
    }
    // The control: within the limit it is given.
    const json::object within =
        under(policy, {"--memory=64M", "--wall-time=500ms"}, {"fills_memory", "32", "1"});
    CHECK(said(within) == "touched 32\n");
    CHECK(e2e::text(within, "outcome") == "timed_out");
  }
}

TEST_CASE("descriptors") {
  e2e::require_jails();
  for (const char* policy : kPolicies)
    CHECK(said(under(policy, {}, {"attacks_on_host", "open_many"})) == "BLOCKED EMFILE\n");
}

TEST_CASE("space and names in every writable folder") {
  e2e::require_jails();
  for (const char* policy : kPolicies) {
    INFO(policy);
    const json::object workdir =
        under(policy, {"--workdir-size=1M"}, {"fills_folder", "/mnt/data", "bytes"});
    CHECK(said(workdir) == "bytes 1048576\nend ENOSPC\n");
    const json::object tmp = under(policy, {}, {"fills_folder", "/tmp", "files"});
    CHECK(e2e::contains(said(tmp), "end ENOSPC\n"));
  }
  const json::object shared =
      under("standard", {"--memory=64M"}, {"fills_folder", "/dev/shm", "bytes"});
  CHECK((e2e::text(shared, "outcome") == "out_of_memory" ||
         e2e::contains(said(shared), "end ENOSPC\n")));
}

TEST_CASE("processor time, by several") {
  e2e::require_jails();
  for (const char* policy : {"standard", "loose"}) {
    const json::object report = under(policy, {"--cpu-time=300ms"}, {"burns_cpu", "3"});
    CHECK(e2e::text(report, "outcome") == "cpu_exceeded");
    CHECK(report.at("exit_code") == 124);
  }
}

TEST_CASE("a flood of refused calls is answered at the payload's expense") {
  e2e::require_jails();
  for (const char* policy : {"tight", "standard"}) {
    INFO(policy);
    const json::object report =
        under(policy, {"--wall-time=1s"}, {"floods_denied_calls", "1000000"});
    CHECK(e2e::text(report, "outcome") == "timed_out");
    CHECK(report.at("denied_throttled") == true);
    CHECK(report.at("denied_total").as_int64() < 20'000);
    // The control: the first thousand were answered at once.
    CHECK(e2e::contains(said(report), "thousand 1000\n"));
  }
}

TEST_CASE("a flood of output is dropped") {
  e2e::require_jails();
  for (const char* policy : kPolicies) {
    const e2e::Ran ran = e2e::run({"run", "--policy", policy, "--output=64K", "--wall-time=500ms",
                                   "-c", "import os\nwhile True: os.write(1, b'x' * 65536)\n"});
    CHECK(ran.code == 124);
    CHECK(ran.out == std::string(65536, 'x'));
  }
}
