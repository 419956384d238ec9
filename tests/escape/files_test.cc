// Files of the host, /proc, /sys and devices; and what a payload leaves for us to trip over.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "tests/e2e/e2e.h"
#include "tests/escape/attack.h"
#include "tests/support/jail_client.h"
#include "tests/support/require.h"

using escape::Attack;
using escape::Control;
namespace fs = std::filesystem;

namespace {

constexpr const char* kProgram = "attacks_on_host";
constexpr const char* kWord = "CANARY-4711";

struct Canary {
  support::TempDir folder;
  std::string path = folder / "secret";

  Canary() {
    e2e::write(path, std::string(kWord) + "\n");
    fs::permissions(folder.path(), fs::perms(0755));
  }
};

std::string payloads_in_jail() { return std::string("/payloads/") + kProgram; }

}  // namespace

TEST_CASE("a file of the host, by its path and by detours") {
  const Canary canary;
  const std::string up = "/tmp/../../../../..";
  const Attack attacks[] = {
      {{"read", canary.path, kWord}, "openat", "ENOENT", "ENOENT", "ENOENT", Control::kBare},
      {{"list", canary.folder.path()}, "openat", "ENOENT", "ENOENT", "ENOENT", Control::kBare},
      {{"read", "/proc/self/root" + canary.path, kWord},
       "openat",
       "ENOENT",
       "ENOENT",
       "ENOENT",
       Control::kBare},
      {{"read", up + canary.path, kWord}, "openat", "ENOENT", "ENOENT", "ENOENT", Control::kBare},
      {{"read_by_symlink", canary.path, kWord},
       "symlink",
       "denied",
       "ENOENT",
       "ENOENT",
       Control::kBare},
      {{"hard_link", canary.path}, "link", "denied", "ENOENT", "ENOENT", Control::kBare},
      {{"open_for_writing", canary.path}, "openat", "ENOENT", "ENOENT", "ENOENT", Control::kBare}};
  escape::check(kProgram, attacks);
}

TEST_CASE("root's files and the host's accounts") {
  const Attack attacks[] = {
      {{"read", "/etc/shadow"}, "openat", "ENOENT", "ENOENT", "ENOENT", Control::kRoot},
      {{"list", "/root"}, "openat", "ENOENT", "ENOENT", "ENOENT", Control::kRoot},
      {{"list", "/home"}, "openat", "ENOENT", "ENOENT", "ENOENT", Control::kBare},
      {{"list", "/var"}, "openat", "ENOENT", "ENOENT", "ENOENT", Control::kBare},
      {{"list", "/sys"}, "openat", "ENOENT", "ENOENT", "ENOENT", Control::kBare},
      {{"read", "/etc/machine-id"}, "openat", "ENOENT", "ENOENT", "ENOENT", Control::kRoot}};
  escape::check(kProgram, attacks);
  for (const char* policy : {"tight", "standard", "loose"}) {
    const e2e::Ran ran =
        e2e::run(e2e::payload({"--policy", policy}, {"prints_files", "/etc/passwd"}));
    INFO(ran.out);
    CHECK(support::lines_of(ran.out).size() <= 3);
    CHECK_FALSE(e2e::contains(ran.out, ":0:0:root:/root"));
  }
  CHECK(e2e::contains(e2e::contents("/etc/passwd"), ":0:0:root:/root"));
}

TEST_CASE("writing where only reading is allowed") {
  const Canary canary;
  REQUIRE(::chmod(canary.path.c_str(), 0666) == 0);
  const std::vector<std::string> shown = {"--ro-bind", canary.folder.path().string() + ":/shown"};
  std::vector<Attack> attacks = {
      {{"read", "/shown/secret", kWord}, "", "REACHED", "REACHED", "REACHED", Control::kShown},
      {{"open_for_writing", "/shown/secret"}, "", "EROFS", "EROFS", "EROFS", Control::kShown},
      {{"create", "/tmp/new"}, "", "REACHED", "REACHED", "REACHED", Control::kShown}};
  for (const char* place :
       {"/shown/new", "/new", "/usr/lib/x86_64-linux-gnu/new", "/run/sandglass/new", "/dev/new"})
    attacks.push_back({{"create", place}, "", "EROFS", "EROFS", "EROFS", Control::kShown});
  escape::check(kProgram, attacks, shown);
  CHECK(escape::outside(kProgram, {"create", canary.folder / "made"}) == "REACHED");
  CHECK(escape::outside(kProgram, {"open_for_writing", canary.path}) == "REACHED");
  CHECK(e2e::tree(canary.folder.path()) == e2e::Words{"made", "secret"});
  CHECK_FALSE(fs::exists("/usr/lib/x86_64-linux-gnu/new"));
}

TEST_CASE("/proc and what it gives away") {
  const Attack attacks[] = {
      {{"list", "/proc"}, "", "ENOENT", "REACHED", "REACHED", Control::kBare},
      {{"read", "/proc/1/environ"}, "", "ENOENT", "ENOENT", "ENOENT", Control::kShown},
      {{"list", "/proc/1/root"}, "", "ENOENT", "ENOENT", "ENOENT", Control::kShown},
      // On kernels without it there is nothing to be blocked.
      {{"open_for_writing", "/proc/sysrq-trigger"},
       "",
       "ENOENT",
       "ENOENT",
       "BLOCKED",
       Control::kShown},
      {{"open_for_writing", "/proc/sys/kernel/core_pattern"},
       "",
       "ENOENT",
       "ENOENT",
       "BLOCKED",
       Control::kRoot},
      {{"read", "/proc/kallsyms", " "}, "", "ENOENT", "ENOENT", "ENODATA", Control::kBare},
      {{"read", "/proc/kcore", "ELF"}, "", "ENOENT", "ENOENT", "BLOCKED", Control::kShown},
      {{"write", "/proc/self/oom_score_adj", "-500"},
       "",
       "ENOENT",
       "EACCES",
       "EACCES",
       Control::kShown},
      {{"write", "/proc/self/uid_map", "0 0 1"}, "", "ENOENT", "EPERM", "EPERM", Control::kShown}};
  escape::check(kProgram, attacks);
  CHECK(escape::outside(kProgram, {"read", "/proc/self/environ"}) == "REACHED");
  CHECK(escape::outside(kProgram, {"list", "/proc/self/root"}) == "REACHED");
  CHECK(escape::outside(kProgram, {"write", "/proc/self/oom_score_adj", "500"}) == "REACHED");
  if (support::has(support::Feature::kRoot) && fs::exists("/proc/sysrq-trigger"))
    CHECK(escape::outside(kProgram, {"open_for_writing", "/proc/sysrq-trigger"}) == "REACHED");
}

TEST_CASE("devices: the harmless ones and no others") {
  const Attack attacks[] = {
      {{"read", "/dev/mem"}, "", "ENOENT", "ENOENT", "ENOENT", Control::kShown},
      {{"open_for_writing", "/dev/null"}, "", "REACHED", "REACHED", "REACHED", Control::kBare},
      {{"read", "/dev/kmsg"}, "", "ENOENT", "ENOENT", "ENOENT", Control::kShown},
      {{"open_for_writing", "/dev/fuse"}, "", "ENOENT", "ENOENT", "ENOENT", Control::kShown},
      {{"make_device"}, "mknodat", "denied", "denied", "denied", Control::kRoot}};
  escape::check(kProgram, attacks);
  CHECK(fs::exists("/dev/tty"));  // the host has more than five
  const std::vector<std::string> harmless = {"full", "null", "random", "urandom", "zero"};
  const std::vector<std::string> links = {"fd", "shm", "stderr", "stdin", "stdout"};
  const std::vector<std::string> loose = {"mqueue", "ptmx", "pts"};
  std::set<std::string> expected;
  const std::pair<const char*, const std::vector<std::string>*> policies[] = {
      {"tight", &harmless}, {"standard", &links}, {"loose", &loose}};
  for (const auto& [policy, more] : policies) {
    for (const std::string& name : *more) expected.insert("/dev/" + name);
    const e2e::Ran ran = e2e::run(e2e::payload({"--policy", policy}, {"lists_folders", "/dev"}));
    const auto lines = support::lines_of(ran.out);
    CHECK(std::set<std::string>(lines.begin(), lines.end()) == expected);
  }
}

TEST_CASE("running what was written") {
  const Attack attacks[] = {
      {{"run_copy", payloads_in_jail()}, "execve", "denied", "EACCES", "REACHED", Control::kShown},
      {{"map_copy", payloads_in_jail()}, "mmap", "EPERM", "EPERM", "REACHED", Control::kShown}};
  escape::check(kProgram, attacks);
  const std::string self = support::payloads_path() + "/" + kProgram;
  CHECK(escape::outside(kProgram, {"run_copy", self}) == "REACHED");
  CHECK(escape::outside(kProgram, {"map_copy", self}) == "REACHED");
  // By way of the loader, which needs no right to run the file itself.
  const std::string script = "cp /bin/true t && /lib64/ld-linux-x86-64.so.2 ./t";
  const e2e::Ran blocked = e2e::run({"exec", "--", "sh", "-c", script});
  CHECK(blocked.code == 127);
  CHECK(e2e::contains(blocked.err, "failed to map segment"));
  CHECK(e2e::run({"exec", "--policy", "loose", "--", "sh", "-c", script}).code == 0);
}

TEST_CASE("what comes out of a hostile workdir stays in the folder for it") {
  e2e::require_jails();
  const Canary canary;
  const std::string out = canary.folder / "out";
  // Names that climb, links that lead out, and a folder that becomes a link while we look.
  const std::string code =
      "import os, threading, time\n"
      "os.symlink('" +
      canary.path +
      "', 'secret')\n"
      "os.symlink('/', 'up'); os.symlink('..', '...')\n"
      "os.makedirs('swap'); open('swap/x', 'w').write('x')\n"
      "if os.fork() == 0:\n"
      "    while True:\n"
      "        os.rename('swap', 'aside'); os.symlink('/etc', 'swap')\n"
      "        os.unlink('swap'); os.rename('aside', 'swap')\n"
      "time.sleep(0.05)\n";
  for (const char* policy : {"standard", "loose"}) {
    for (int i = 0; i < 5; ++i) {
      fs::remove_all(out);
      CHECK(e2e::run({"run", "--policy", policy, "--out", out, "-c", code}).code == 0);
      for (const std::string& name : e2e::tree(out)) {
        CHECK_FALSE(fs::is_symlink(out + "/" + name));
        if (name.back() != '/') CHECK(e2e::contents(out + "/" + name) == "x");
      }
    }
  }
  CHECK(e2e::contents(canary.path) == std::string(kWord) + "\n");
}
