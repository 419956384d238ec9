// Specs and commands that use every kind of entry once, for tests of plans. Header only.
#pragma once

#include <sys/resource.h>

#include <string>
#include <vector>

#include "jail/spec.h"
#include "jail/syscalls.h"

namespace support {

inline jail::Mount tmpfs(const std::string& target, jail::Bytes size, std::uint64_t inodes) {
  jail::Mount m;
  m.kind = jail::MountKind::kTmpfs;
  m.target = target;
  m.access = jail::Access::kReadWrite;
  m.size = size;
  m.inodes = inodes;
  m.mode = 0777;
  return m;
}

inline jail::Mount entry(jail::MountKind kind, const std::string& source,
                         const std::string& target) {
  jail::Mount m;
  m.kind = kind;
  m.source = source;
  m.target = target;
  return m;
}

// Everything libseccomp knows by name is allowed but these, which are denied and reported.
inline jail::SyscallFilter allow_all_but(const std::vector<std::string>& denied) {
  jail::SyscallFilter filter;
  for (int number = 0; number <= jail::kLastSyscall; ++number) {
    const std::string name = jail::syscall_name(number);
    bool allow = name.rfind("syscall ", 0) != 0;
    for (const std::string& d : denied) allow = allow && d != name;
    if (allow) filter.rules.push_back({number, jail::SyscallAction::kAllow, 0, {}});
  }
  return filter;
}

inline jail::SyscallFilter allow_only(const std::vector<std::string>& names) {
  jail::SyscallFilter filter;
  for (const std::string& name : names)
    filter.rules.push_back({*jail::syscall_number(name), jail::SyscallAction::kAllow, 0, {}});
  return filter;
}

inline jail::Spec every_kind_of_mount() {
  jail::Spec spec;
  spec.mounts = {entry(jail::MountKind::kBind, "/usr", "/usr"),
                 entry(jail::MountKind::kDevice, "/dev/null", "/dev/null"),
                 tmpfs("/mnt/data", jail::mib(8), 100),
                 entry(jail::MountKind::kDir, "", "/srv/empty"),
                 entry(jail::MountKind::kSymlink, "usr/lib", "/lib"),
                 entry(jail::MountKind::kFile, "", "/etc/hosts"),
                 entry(jail::MountKind::kDevpts, "", "/dev/pts")};
  spec.mounts[5].contents = std::string("127.0.0.1 localhost\n\0binary", 27);
  spec.code_dir = "/run/sandglass";
  spec.proc = jail::ProcView::kMasked;
  spec.loopback = jail::Loopback::kUp;
  spec.rlimits = {{RLIMIT_CORE, 0, 0}, {RLIMIT_NOFILE, 64, 128}};
  spec.totals = {jail::mib(100), 20, jail::Millis(1500)};
  spec.filter = allow_only({"read", "write", "exit_group", "openat"});
  return spec;
}

inline jail::Command every_part_of_command() {
  jail::Command command;
  command.argv = {"program", "", "two words", "\xff\xfe"};
  command.env = {"PATH=/bin", "EMPTY="};
  command.cwd = "/mnt/data";
  command.inputs = {{"/run/sandglass/main.py", 0444}, {"/mnt/data/in.csv", 0644}};
  return command;
}

}  // namespace support
