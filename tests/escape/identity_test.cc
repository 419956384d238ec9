// Becoming somebody, or more than one is.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/e2e/e2e.h"
#include "tests/escape/attack.h"
#include "tests/support/jail_client.h"
#include "tests/support/require.h"

using escape::Attack;
using escape::Control;
namespace fs = std::filesystem;

TEST_CASE("ids and capabilities") {
  const Attack attacks[] = {
      {{"setuid"}, "setuid", "denied", "denied", "EINVAL", Control::kInside},
      {{"setgid"}, "setgid", "denied", "denied", "EINVAL", Control::kInside},
      {{"setresuid"}, "setresuid", "denied", "denied", "EINVAL", Control::kInside},
      {{"setgroups"}, "setgroups", "denied", "denied", "EPERM", Control::kRoot},
      {{"capset"}, "capset", "denied", "denied", "EPERM", Control::kInside},
      {{"prctl_ambient"}, "prctl", "denied", "denied", "EPERM", Control::kListed}};
  escape::check("attacks_by_call", attacks);
}

TEST_CASE("what a file may carry") {
  const Attack attacks[] = {
      {{"set_uid_bit"}, "chmod", "denied", "denied", "denied", Control::kBare},
      {{"give_to_root"}, "chown", "denied", "EINVAL", "EINVAL", Control::kRoot},
      {{"capability_on_file"}, "setxattr", "EOPNOTSUPP", "EOPNOTSUPP", "EPERM", Control::kRoot}};
  escape::check("attacks_on_host", attacks);
}

TEST_CASE("nobody, with nothing, for good") {
  e2e::require_jails();
  for (const char* policy : {"tight", "standard", "loose"}) {
    INFO(policy);
    auto told =
        support::told(e2e::run(e2e::payload({"--policy", policy}, {"describes_itself"})).out);
    for (const char* set : {"permitted", "effective", "inheritable", "bounding", "ambient"})
      CHECK((set + told[set]) == set + std::string("0"));
    if (std::string(policy) != "tight") CHECK(told["uids"] == "1000 1000 1000");
    if (std::string(policy) != "tight") CHECK(told["no_new_privs"] == "1");
    CHECK((told["set_securebits"] == "EPERM" && told["keep_caps"] == "EPERM"));
    CHECK(told["session"] == (std::string(policy) == "tight" ? "-1" : "2"));
  }
}

TEST_CASE("a set-uid program gives nothing") {
  support::require(support::Feature::kRoot);  // to make one
  e2e::require_jails();
  const support::TempDir folder;
  fs::permissions(folder.path(), fs::perms(0755));
  fs::copy_file(support::payloads_path() + "/describes_itself", folder / "suid");
  REQUIRE(::chmod((folder / "suid").c_str(), 06755) == 0);
  for (const char* policy : {"standard", "loose"}) {
    const e2e::Ran ran = e2e::run({"exec", "--policy", policy, "--ro-bind",
                                   folder.path().string() + ":/shown", "--", "/shown/suid"});
    CHECK(support::told(ran.out)["uids"] == "1000 1000 1000");
    CHECK(support::told(ran.out)["effective"] == "0");
  }
  e2e::Call bare;  // the control: outside, another user becomes root by it
  bare.program = folder / "suid";
  bare.before_exec = [] {
    if (::setgid(64321) != 0 || ::setuid(64321) != 0) ::_exit(98);
  };
  CHECK(support::told(support::run_binary(bare).out)["uids"] == "64321 0 0");
}
