// Finding our own cgroup from the text of /proc/self/mountinfo and /proc/self/cgroup, as hosts,
// containers and nested ones show them.
#include <catch2/catch.hpp>

#include "jail/cgroup_find.h"

namespace {

using jail::find_v1;
using jail::find_v2;

const char* const kV1Mounts =
    "25 20 0:22 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
    "26 25 0:23 / /sys/fs/cgroup/systemd rw shared:9 - cgroup cgroup rw,xattr,name=systemd\n"
    "30 25 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:13 - cgroup cgroup rw,memory\n"
    "31 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n";
const char* const kHybridMounts =
    "27 25 0:24 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
    "30 25 0:27 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n";
const char* const kV2Mounts =
    "21 20 0:20 / /sys rw - sysfs sysfs rw\n"
    "30 21 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw\n";

}  // namespace

TEST_CASE("v1: each controller in its own hierarchy") {
  const char* own = "12:cpu,cpuacct:/user.slice\n9:memory:/user.slice/session\n1:name=systemd:/s\n";
  const auto memory = find_v1(kV1Mounts, own, "memory");
  REQUIRE(memory.has_value());
  CHECK(memory->mount == "/sys/fs/cgroup/memory");
  CHECK(memory->own == "/sys/fs/cgroup/memory/user.slice/session");
  const auto cpu = find_v1(kV1Mounts, own, "cpuacct");
  REQUIRE(cpu.has_value());
  CHECK(cpu->mount == "/sys/fs/cgroup/cpu,cpuacct");
  CHECK(cpu->own == "/sys/fs/cgroup/cpu,cpuacct/user.slice");
  CHECK_FALSE(find_v1(kV1Mounts, own, "pids").has_value());
  CHECK_FALSE(find_v1(kV1Mounts, own, "mem").has_value());
  CHECK_FALSE(find_v1(kV1Mounts, own, "").has_value());
  CHECK_FALSE(find_v2(kV1Mounts, own).has_value());
}

TEST_CASE("v1: the root of a hierarchy has no slash after it") {
  const auto memory = find_v1(kV1Mounts, "9:memory:/\n", "memory");
  REQUIRE(memory.has_value());
  CHECK(memory->own == "/sys/fs/cgroup/memory");
}

TEST_CASE("v2: the unified hierarchy") {
  const auto found = find_v2(kV2Mounts, "0::/user.slice/user-1000.slice/session-2.scope\n");
  REQUIRE(found.has_value());
  CHECK(found->mount == "/sys/fs/cgroup");
  CHECK(found->own == "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope");
  CHECK_FALSE(find_v1(kV2Mounts, "0::/x\n", "memory").has_value());
}

TEST_CASE("hybrid: both, side by side") {
  const char* own = "9:memory:/a\n0::/b:c\n";
  CHECK(find_v1(kHybridMounts, own, "memory")->own == "/sys/fs/cgroup/memory/a");
  CHECK(find_v2(kHybridMounts, own)->own == "/sys/fs/cgroup/unified/b:c");
}

TEST_CASE("container: a mount that shows only our subtree") {
  const char* mounts =
      "700 699 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
  CHECK(find_v1(mounts, "9:memory:/docker/abc\n", "memory")->own == "/sys/fs/cgroup/memory");
  CHECK(find_v1(mounts, "9:memory:/docker/abc/in\n", "memory")->own == "/sys/fs/cgroup/memory/in");
  // Another container whose name begins the same is not below ours.
  CHECK(find_v1(mounts, "9:memory:/docker/abcd\n", "memory")->own == "/sys/fs/cgroup/memory");
  CHECK(find_v1(mounts, "9:memory:/\n", "memory")->own == "/sys/fs/cgroup/memory");
}

TEST_CASE("a path outside the cgroup namespace never climbs out of the mount") {
  CHECK(find_v2(kV2Mounts, "0::/../../other\n")->own == "/sys/fs/cgroup");
  CHECK(find_v2(kV2Mounts, "0::/..\n")->own == "/sys/fs/cgroup");
  CHECK(find_v1(kV1Mounts, "9:memory:/../x\n", "memory")->own == "/sys/fs/cgroup/memory");
  const char* outer = "700 699 0:27 /../.. /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
  CHECK(find_v2(outer, "0::/\n")->own == "/sys/fs/cgroup");
  CHECK(find_v2(kV2Mounts, "0::/a..b/..c\n")->own == "/sys/fs/cgroup/a..b/..c");
}

TEST_CASE("escapes in mountinfo are read back") {
  const char* mounts = "30 21 0:26 / /sys/fs/my\\040c\\134group rw - cgroup2 cgroup2 rw\n";
  const auto found = find_v2(mounts, "0::/x\n");
  REQUIRE(found.has_value());
  CHECK(found->mount == "/sys/fs/my c\\group");
  CHECK(found->own == "/sys/fs/my c\\group/x");
}

TEST_CASE("odd lines are passed over") {
  const std::string odd = std::string("\n - \n1 2 3 - cgroup2\nx\n30 21 0:26 / - cgroup2 a b\n") +
                          "1 2 3 4 5\\04 6 - cgroup2 cgroup2\n" + kV2Mounts;
  CHECK(find_v2(odd, "\n:\n::\n0:\n0::/x\n")->own == "/sys/fs/cgroup/x");
  CHECK_FALSE(find_v2("", "0::/\n").has_value());
  CHECK(find_v2(kV2Mounts, "")->own == "/sys/fs/cgroup");
}
