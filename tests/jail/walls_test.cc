// The tree: what can be read, written and run, and how much fits. And Landlock, behind it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/support/jail_client.h"
#include "tests/support/require.h"
#include "tests/support/temp_dir.h"

namespace {

using support::base_spec;
using support::Run;
using support::Spawner;
using support::tmpfs;
using Told = std::map<std::string, std::string>;

struct MountLine {
  std::string point;
  std::string options;  // with commas around
  std::string type;
};

std::vector<MountLine> mounts_in(const std::string& mountinfo) {
  std::vector<MountLine> found;
  for (const std::string& line : support::lines_of(mountinfo)) {
    std::istringstream in(line);
    std::string skipped;
    MountLine m;
    in >> skipped >> skipped >> skipped >> skipped >> m.point >> m.options;
    m.options = "," + m.options + ",";
    std::istringstream(line.substr(line.find(" - ") + 3)) >> m.type;
    found.push_back(m);
  }
  return found;
}

bool has_option(const MountLine& m, const std::string& option) {
  return m.options.find("," + option + ",") != std::string::npos;
}

// What tries_the_walls says, with a workdir that may or may not run programs.
Told walls(Spawner& spawner, jail::Exec exec) {
  jail::Spec spec = base_spec();
  spec.mounts[3].exec = exec;
  spec.filter = support::allow_all_but({"socket"});
  const Run run = spawner.run(spec, {"tries_the_walls", "/mnt/data"});
  REQUIRE_FALSE(run.error.has_value());
  REQUIRE(run.ended.wait_status == 0);
  return support::told(run.out);
}

}  // namespace

TEST_CASE("every mount is nosuid, nodev, and read-only unless it is for writing") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.proc = jail::ProcView::kOwnPids;
  spec.mounts.push_back(support::entry(jail::MountKind::kDevpts, "", "/dev/pts"));
  spec.mounts.push_back(support::entry(jail::MountKind::kBind, "/usr", "/usr"));
  const Run run = spawner.run(spec, {"prints_files", "/proc/self/mountinfo"});
  std::map<std::string, MountLine> points;
  for (const MountLine& m : mounts_in(run.out)) {
    INFO(m.point << " " << m.options);
    CHECK(has_option(m, "nosuid"));
    if (m.point != "/dev/null" && m.point != "/dev/pts") CHECK(has_option(m, "nodev"));
    const bool writable =
        m.point == "/tmp" || m.point == "/mnt/data" || m.point == "/dev/pts" || m.point == "/proc";
    CHECK(has_option(m, writable ? "rw" : "ro"));
    CHECK(has_option(m, "noexec") == (m.point != "/payloads"));
    points[m.point] = m;
  }
  for (const char* point : {"/", "/payloads", "/dev/null", "/tmp", "/mnt/data", "/proc",
                            "/run/sandglass", "/dev/pts", "/usr"})
    CHECK(points.count(point) == 1);
  CHECK(points["/"].type == "tmpfs");
  CHECK(run.out.find("cgroup") == std::string::npos);
}

TEST_CASE("the root folder holds what the plan says") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  jail::Spec spec = base_spec();
  spec.mounts.push_back(support::entry(jail::MountKind::kSymlink, "usr/bin", "/bin"));
  spec.mounts.push_back(support::entry(jail::MountKind::kDir, "", "/srv/a/b"));
  jail::Mount hosts = support::entry(jail::MountKind::kFile, "", "/etc/hosts");
  hosts.contents = std::string("1\0002\n", 4);
  hosts.mode = 0444;
  spec.mounts.push_back(hosts);
  jail::Mount absent = support::entry(jail::MountKind::kBind, "/no/such/place", "/opt/x");
  absent.presence = jail::Presence::kOptional;
  spec.mounts.push_back(absent);
  const Run run = spawner.run(spec, {"lists_folders", "/", "/srv/a", "/etc", "/run", "/opt"});
  auto lines = support::lines_of(run.out);
  std::sort(lines.begin(), lines.end());
  CHECK(lines == std::vector<std::string>{"//bin", "//dev", "//etc", "//mnt", "//opt", "//payloads",
                                          "//run", "//srv", "//tmp", "/etc/hosts", "/run/sandglass",
                                          "/srv/a/b"});
  CHECK(spawner.run(spec, {"prints_files", "/etc/hosts"}).out == hosts.contents);
}

TEST_CASE("a tmpfs takes exactly its size and its inodes") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  jail::Spec spec = base_spec();
  spec.mounts[3] = tmpfs("/mnt/data", jail::mib(1), 10);
  Told told = support::told(spawner.run(spec, {"fills_folder", "/mnt/data", "bytes"}).out);
  CHECK(told["bytes"] == "1048576");
  CHECK(told["end"] == "ENOSPC");
  told = support::told(spawner.run(spec, {"fills_folder", "/mnt/data", "files"}).out);
  CHECK(told["files"] == "9");  // the folder itself is the tenth
  CHECK(told["end"] == "ENOSPC");
}

TEST_CASE("folders ten thousand deep end at the inode limit, and leave nothing") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  jail::Spec spec = base_spec();
  Told told = support::told(spawner.run(spec, {"makes_deep_folders", "/mnt/data", "10000"}).out);
  CHECK(told["depth"] == "999");
  CHECK(told["end"] == "ENOSPC");
  spec.mounts[3].inodes = 20000;
  spec.mounts[3].size = jail::mib(64);
  const Run run = spawner.run(spec, {"makes_deep_folders", "/mnt/data", "10000"},
                              std::chrono::seconds(100));  // Landlock walks up at every step
  CHECK(support::told(run.out)["depth"] == "10000");
}

TEST_CASE("walls hold") {
  support::require(support::Feature::kUserNamespaces);
  const support::Backend backend = GENERATE(from_range(support::backends()));
  INFO(backend);
  Spawner spawner(backend);
  const bool landlock = spawner.hello().landlock_abi > 0;
  Told told = walls(spawner, jail::Exec::kNoExec);
  CHECK(told["write_root"] == "EROFS");
  CHECK(told["mkdir_root"] == "EROFS");
  CHECK(told["mkdir_etc"] == "ENOENT");
  CHECK(told["write_payloads"] == "EROFS");
  CHECK(told["unlink_payload"] == "EROFS");
  CHECK(told["chmod_root"] == "EROFS");
  CHECK(told["write_code"] == "EROFS");
  CHECK(told["run_copy"] == "EACCES");
  CHECK(told["map_copy"] == "EPERM");
  CHECK(told["map_anonymous"] == "OK");
  CHECK(told["make_device"] == (landlock ? "EACCES" : "EPERM"));
  CHECK(told["make_fifo"] == "OK");
  CHECK(told["mount"] == "EPERM");
  CHECK(told["unmount"] == "EPERM");
  CHECK(told["chroot"] == "EPERM");
  CHECK(told["ptrace_init"] == "EPERM");
  CHECK(told["set_hostname"] == "EPERM");
  CHECK(told["new_user_namespace_mount"] != "OK");
}

TEST_CASE("a program in a workdir for programs runs, and gains nothing by a set-uid bit") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  Told told = walls(spawner, jail::Exec::kExec);
  CHECK(told["run_copy"] == "OK");
  CHECK(told["map_copy"] == "OK");
  CHECK(told["set_uid_bit"] == "OK");  // nosuid: it means nothing
}

TEST_CASE("Landlock holds where the mounts would not") {
  support::require(support::Feature::kUserNamespaces);
  support::require(support::Feature::kLandlock);
  Spawner spawner;
  REQUIRE(spawner.hello().landlock_abi >= 1);
  // mknod(2) of a whiteout needs no capability, and the tmpfs is writable: nothing else is there.
  CHECK(walls(spawner, jail::Exec::kNoExec)["make_whiteout"] == "EACCES");
  if (spawner.hello().landlock_abi < 4) return;
  jail::Spec spec = base_spec();
  spec.filter = support::allow_all_but({"ptrace"});
  spec.loopback = jail::Loopback::kUp;
  Told told = support::told(spawner.run(spec, {"uses_the_network"}).out);
  CHECK(told["bind"] == "EACCES");
  CHECK(told["connect"] == "EACCES");
}

TEST_CASE("an input is put where the payload reads it") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  jail::Command command =
      support::payload_command({"prints_files", "/run/sandglass/a/main", "/mnt/data/in"});
  command.inputs = {{"/run/sandglass/a/main", 0444}, {"/mnt/data/in", 0600}};
  std::vector<jail::Fd> inputs;
  inputs.push_back(support::file_with("the code\n"));
  inputs.push_back(support::file_with(std::string(300000, 'x')));
  const Run run = spawner.run(base_spec(), command, std::move(inputs));
  REQUIRE_FALSE(run.error.has_value());
  CHECK(run.out == "the code\n" + std::string(300000, 'x'));
}

TEST_CASE("the workdir can be read after the jail has died") {
  support::require(support::Feature::kUserNamespaces);
  Spawner spawner;
  const Run run = spawner.run(base_spec(), {"fills_folder", "/mnt/data", "bytes"});
  REQUIRE(run.workdir.valid());
  CHECK(::faccessat(run.workdir.get(), "big", F_OK, 0) == 0);
}
