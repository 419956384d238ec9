// What a payload sees of itself and of the host.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <set>
#include <tuple>

#include "tests/support/jail_client.h"
#include "tests/support/require.h"

namespace {

using support::Backend;
using support::base_spec;
using support::Run;
using support::Spawner;
using Told = std::map<std::string, std::string>;

bool rootless(const Backend& b) { return ::geteuid() != 0 || b.as == support::As::kUser; }

std::set<std::string> set_of_lines(const std::string& text) {
  const auto lines = support::lines_of(text);
  return {lines.begin(), lines.end()};
}

}  // namespace

TEST_CASE("a payload is nobody, has nothing and can become nothing") {
  support::require(support::Feature::kUserNamespaces);
  const Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.hostname = "somewhere";
  const Run run = spawner.run(spec, {"describes_itself"});
  REQUIRE_FALSE(run.error.has_value());
  Told told = support::told(run.out);
  CHECK(told["uids"] == "1000 1000 1000");
  CHECK(told["gids"] == "1000 1000 1000");
  if (!rootless(backend)) CHECK(told["groups"] == "0");
  CHECK(told["pid"] == "2");
  CHECK(told["ppid"] == "1");
  CHECK(told["session"] == "2");
  CHECK(told["group"] == "2");
  CHECK(told["become_root"] == "EINVAL");  // no such id in this namespace
  CHECK(told["hostname"] == "somewhere");
  for (const char* set : {"permitted", "effective", "inheritable", "bounding", "ambient"})
    CHECK((std::string(set) + told[set]) == std::string(set) + "0");
  CHECK(told["no_new_privs"] == "1");
  CHECK(told["seccomp"] == "2");
  CHECK(told["securebits"] == std::to_string(0xef));
  CHECK(told["set_securebits"] == "EPERM");
  CHECK(told["keep_caps"] == "EPERM");
  CHECK(told["blocked_signals"] == "0");
  CHECK(told["changed_signals"] == "0");
  CHECK(told["fds"] == "0,1,2,");
  CHECK(told["umask"] == std::to_string(022));
  CHECK(told["cwd"] == "/mnt/data");
  CHECK(run.ended.exited);
  CHECK(run.ended.wait_status == 0);
  CHECK(run.ended.cause == jail::KillCause::kNone);
}

TEST_CASE("what the spawner's caller blocked, ignored or opened does not reach a payload") {
  support::require(support::Feature::kUserNamespaces);
  support::SpawnerOptions options;
  options.before_exec = [] {
    for (int s = 1; s < NSIG; ++s) std::ignore = ::signal(s, SIG_IGN);
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    for (int fd = 60; fd < 200; ++fd) ::dup2(2, fd);
    ::umask(0777);
  };
  Spawner spawner(options);
  Told told = support::told(spawner.run(base_spec(), {"describes_itself"}).out);
  CHECK(told["blocked_signals"] == "0");
  CHECK(told["changed_signals"] == "0");
  CHECK(told["fds"] == "0,1,2,");
  CHECK(told["umask"] == std::to_string(022));
}

TEST_CASE("arguments and environment are exactly those given") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  jail::Command command = support::payload_command({"describes_itself", "", "two words", "\xff"});
  command.env = {"A=1", "NO_VALUE=", "A=2"};
  command.cwd = "/tmp";
  const Run run = spawner.run(base_spec(), command);
  std::vector<std::string> given;
  for (const std::string& line : support::lines_of(run.out))
    if (line.rfind("arg ", 0) == 0 || line.rfind("env ", 0) == 0) given.push_back(line);
  CHECK(given == std::vector<std::string>{"arg /payloads/describes_itself", "arg ", "arg two words",
                                          "arg \xff", "env A=1", "env NO_VALUE=", "env A=2"});
  CHECK(support::told(run.out)["cwd"] == "/tmp");
}

TEST_CASE("a payload's cgroup is the root of all it knows of") {
  support::require(support::Feature::kUserNamespaces);
  const Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.proc = jail::ProcView::kOwnPids;
  const Run run = spawner.run(spec, {"prints_files", "/proc/self/cgroup"});
  REQUIRE_FALSE(run.error.has_value());
  REQUIRE_FALSE(run.out.empty());
  // "4:memory:/". A hierarchy that we do not use keeps our caller's folder as its root: also "/".
  for (const std::string& line : support::lines_of(run.out))
    CHECK(line.substr(line.rfind(':')) == ":/");
}

TEST_CASE("a payload may be in the root folder") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  jail::Command command = support::payload_command({"describes_itself"});
  command.cwd = "/";
  const Run run = spawner.run(base_spec(), command);
  CHECK_FALSE(run.error.has_value());
  INFO((run.error ? jail::describe(*run.error, nullptr) : "")
       << run.out << run.err << " exited " << run.ended.exited << " status "
       << run.ended.wait_status);
  CHECK(support::told(run.out)["cwd"] == "/");
}

TEST_CASE("resource limits are the plan's") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  jail::Spec spec = base_spec();
  spec.rlimits = {{RLIMIT_CORE, 0, 0},
                  {RLIMIT_NOFILE, 32, 64},
                  {RLIMIT_FSIZE, 1 << 20, 1 << 20},
                  {RLIMIT_CPU, 5, 6},
                  {RLIMIT_STACK, 4 << 20, 4 << 20}};
  Told told = support::told(spawner.run(spec, {"describes_itself"}).out);
  for (const jail::Rlimit& l : spec.rlimits)
    CHECK(told["rlimit" + std::to_string(l.resource)] ==
          std::to_string(l.soft) + " " + std::to_string(l.hard));
}

TEST_CASE("a limit that the host sets lower stays lower") {
  support::require(support::Feature::kUserNamespaces);
  support::SpawnerOptions options;
  options.before_exec = [] {
    const rlimit low{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &low);
  };
  Spawner spawner(options);
  jail::Spec spec = base_spec();
  spec.rlimits = {{RLIMIT_FSIZE, 8 << 20, 9 << 20}};
  Told told = support::told(spawner.run(spec, {"describes_itself"}).out);
  CHECK(told["rlimit" + std::to_string(RLIMIT_FSIZE)] == "1048576 1048576");
}

TEST_CASE("without /proc there is no /proc") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const Run run = spawner.run(base_spec(), {"prints_files", "/proc/self/status"});
  CHECK(run.out == "/proc/self/status: ENOENT\n");
}

TEST_CASE("/proc of own processes shows them and nothing else") {
  support::require(support::Feature::kUserNamespaces);
  const Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.proc = jail::ProcView::kOwnPids;
  const Run listed = spawner.run(spec, {"lists_folders", "/proc"});
  CHECK(set_of_lines(listed.out) ==
        std::set<std::string>{"/proc/2", "/proc/self", "/proc/thread-self"});
  const Run read =
      spawner.run(spec, {"prints_files", "/proc/1/status", "/proc/1/environ", "/proc/meminfo",
                         "/proc/sys/kernel/hostname", "/proc/kallsyms", "/proc/self/mem_missing"});
  CHECK(read.out ==
        "/proc/1/status: ENOENT\n/proc/1/environ: ENOENT\n/proc/meminfo: ENOENT\n"
        "/proc/sys/kernel/hostname: ENOENT\n/proc/kallsyms: ENOENT\n"
        "/proc/self/mem_missing: ENOENT\n");
}

TEST_CASE("a masked /proc hides what tells of the host") {
  support::require(support::Feature::kUserNamespaces);
  const Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.proc = jail::ProcView::kMasked;
  const Run listed = spawner.run(spec, {"lists_folders", "/proc", "/proc/sys", "/proc/fs",
                                        "/proc/bus", "/proc/irq", "/proc/driver"});
  const auto lines = set_of_lines(listed.out);
  CHECK(lines.count("/proc/1") == 0);
  CHECK(lines.count("/proc/2") == 1);
  CHECK(lines.count("/proc/meminfo") == 1);
  for (const char* folder : {"/proc/sys", "/proc/fs", "/proc/bus", "/proc/irq", "/proc/driver"})
    CHECK(std::none_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.rfind(std::string(folder) + "/", 0) == 0;
    }));
  for (const char* file : {"kallsyms", "kcore", "keys", "cmdline", "modules", "interrupts", "kmsg",
                           "timer_list", "sched_debug", "config.gz", "zoneinfo", "vmallocinfo"}) {
    const std::string path = std::string("/proc/") + file;
    const std::string out = spawner.run(spec, {"prints_files", path}).out;
    INFO(path << " gave " << out.substr(0, 100));
    CHECK((out.empty() || out == path + ": ENOENT\n" || out == path + ": EACCES\n"));
  }
  const Run wrote = spawner.run(spec, {"fills_folder", "/proc/sys", "files"});
  CHECK(support::told(wrote.out)["files"] == "0");
}

TEST_CASE("only a loopback interface, down unless the plan says up") {
  support::require(support::Feature::kUserNamespaces);
  const Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.filter = support::allow_all_but({"ptrace"});
  spec.landlock_net = jail::LandlockNet::kUnhandled;
  CHECK(spawner.run(spec, {"uses_the_network"}).out ==
        "interface lo\nup 0\nbind OK\nconnect ENETUNREACH\nelsewhere ENETUNREACH\n");
  spec.loopback = jail::Loopback::kUp;
  CHECK(spawner.run(spec, {"uses_the_network"}).out ==
        "interface lo\nup 1\nbind OK\nconnect ECONNREFUSED\nelsewhere ENETUNREACH\n");
}
