// Where this process sits in the cgroup hierarchies: pure parsing of /proc/self/mountinfo and
// /proc/self/cgroup, apart so that it can be tested without a kernel.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace jail {

// A hierarchy's mount point and our own folder in it, both as absolute paths.
struct Hierarchy {
  std::string mount;
  std::string own;
};

// `controller` is "memory", "pids", "cpuacct"; nullopt when no such v1 hierarchy is mounted.
std::optional<Hierarchy> find_v1(std::string_view mountinfo, std::string_view cgroup,
                                 std::string_view controller);
std::optional<Hierarchy> find_v2(std::string_view mountinfo, std::string_view cgroup);

}  // namespace jail
