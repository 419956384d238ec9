// Processes outside the jail, by their numbers there, and what a caller leaves open to its child.
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/e2e/e2e.h"
#include "tests/escape/attack.h"
#include "tests/support/jail_client.h"
#include "tests/support/require.h"

using escape::Attack;
using escape::Control;

namespace {

constexpr const char* kProgram = "attacks_on_host";

// A process of the host's that waits, of the same user as the attacker.
class Victim {
 public:
  Victim() : pid_(::fork()) {
    if (pid_ == 0) {
      ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
      while (true) ::pause();
    }
  }
  ~Victim() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  Victim(Victim&&) = delete;
  Victim& operator=(Victim&&) = delete;

  [[nodiscard]] std::string pid() const { return std::to_string(pid_); }
  [[nodiscard]] bool lives() const { return support::is_alive(pid_); }

 private:
  pid_t pid_;
};

}  // namespace

TEST_CASE("a process outside does not exist inside") {
  const Victim victim;
  const std::string pid = victim.pid();
  REQUIRE(pid.size() > 2);  // no number that a jail's own few processes could have
  const Attack attacks[] = {
      {{"kill", pid}, "kill", "denied", "ESRCH", "ESRCH", Control::kBare},
      {{"trace", pid}, "ptrace", "denied", "denied", "denied", Control::kBare},
      {{"limits_of", pid}, "prlimit64", "denied", "denied", "denied", Control::kBare},
      {{"affinity_of", pid}, "sched_setaffinity", "denied", "ESRCH", "ESRCH", Control::kBare},
      {{"renice", pid}, "setpriority", "denied", "ESRCH", "ESRCH", Control::kBare},
      {{"pidfd_of", pid}, "pidfd_open", "denied", "ESRCH", "ESRCH", Control::kBare},
      {{"list", "/proc/" + pid}, "openat", "ENOENT", "ENOENT", "ENOENT", Control::kBare}};
  escape::check(kProgram, attacks);
  CHECK(victim.lives());
}

TEST_CASE("a jail's own processes are all that is to be seen") {
  e2e::require_jails();
  const Victim victim;
  for (const char* policy : {"standard", "loose"}) {
    const e2e::Ran ran = e2e::run({"exec", "--policy", policy, "--", "sh", "-c",
                                   "for d in /proc/[0-9]*; do echo ${d#/proc/}; done"});
    for (const std::string& pid : support::lines_of(ran.out)) CHECK(std::stoi(pid) <= 3);
    CHECK(support::lines_of(ran.out).size() >= 1);
  }
}

TEST_CASE("descriptors that our caller left open do not come in") {
  e2e::require_jails();
  const support::TempDir folder;
  for (const char* policy : {"tight", "standard", "loose"}) {
    INFO(policy);
    e2e::Call call{.args = e2e::payload({"--policy", policy}, {"describes_itself"})};
    call.before_exec = [&] {
      const int root = ::open("/", O_RDONLY | O_DIRECTORY);
      for (int fd = 3; fd < 60; ++fd) ::dup2(root, fd);
    };
    CHECK(support::told(e2e::run(call).out)["fds"] == "0,1,2,");
  }
  e2e::Call bare;  // the control: without a jail they are inherited
  bare.program = support::payloads_path() + "/describes_itself";
  bare.before_exec = [] { ::dup2(1, 40); };
  CHECK(e2e::contains(support::told(support::run_binary(bare).out)["fds"], ",40,"));
}

TEST_CASE("groups of the caller's, and its umask, do not come in") {
  support::require(support::Feature::kRoot);  // to have groups
  e2e::require_jails();
  const auto with_groups = [] {
    const gid_t groups[] = {0, 4, 24, 64322};
    if (::setgroups(4, groups) != 0) ::_exit(98);
    ::umask(0);
  };
  for (const char* policy : {"standard", "loose"}) {
    e2e::Call call{.args = e2e::payload({"--policy", policy}, {"describes_itself"})};
    call.before_exec = with_groups;
    auto told = support::told(e2e::run(call).out);
    CHECK(told["groups"] == "0");
    CHECK(told["umask"] == std::to_string(022));
  }
  e2e::Call bare;  // the control
  bare.program = support::payloads_path() + "/describes_itself";
  bare.before_exec = with_groups;
  auto told = support::told(support::run_binary(bare).out);
  CHECK(told["groups"] == "4");
  CHECK(told["umask"] == "0");
}

TEST_CASE("our caller's environment and signals do not come in") {
  e2e::require_jails();
  for (const char* policy : {"tight", "standard", "loose"}) {
    INFO(policy);
    e2e::Call call{.args = e2e::payload({"--policy", policy}, {"describes_itself"})};
    call.env = {"SECRET_TOKEN=4711", "LD_PRELOAD=", "PYTHONPATH=/x", "SANDGLASS_CGROUP=none"};
    call.before_exec = [] {
      (void)::signal(SIGINT, SIG_IGN);
      (void)::signal(SIGUSR1, SIG_IGN);
    };
    const e2e::Ran ran = e2e::run(call);
    std::vector<std::string> env;
    for (const std::string& line : support::lines_of(ran.out))
      if (line.rfind("env ", 0) == 0) env.push_back(line.substr(4));
    CHECK(env == std::vector<std::string>{"HOME=/mnt/data", "LANG=C.UTF-8",
                                          "PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR=/tmp"});
    CHECK(support::told(ran.out)["changed_signals"] == "0");
    CHECK(support::told(ran.out)["hostname"] == "sandglass");
  }
}
