// What code can learn of the host it runs on.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <cstdint>
#include <ctime>
#include <initializer_list>

#include "runner/reach/helper/say.h"

extern char** environ;

namespace reach {
namespace {

static char buffer[1 << 16];

// The file's content as a string; nullptr if it cannot be read.
const char* content(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return nullptr;
  std::size_t have = 0;
  for (ssize_t n = 0;
       have < sizeof buffer - 1 && (n = ::read(file, buffer + have, sizeof buffer - 1 - have)) > 0;)
    have += static_cast<std::size_t>(n);
  shut(file);
  buffer[have] = '\0';
  return buffer;
}

Said any_of(const char* const* paths, std::size_t count) {
  Said said;
  for (std::size_t i = 0; i < count; ++i) {
    const char* text = content(paths[i]);
    if (text != nullptr && text[0] != '\0') return reached("read %s", paths[i]);
    said = blocked(text == nullptr ? errno : 0, "read %s", paths[i]);
  }
  return said;
}

Said host_name() {
  utsname name{};
  if (::uname(&name) != 0) return blocked(errno, "uname");
  if (std::strcmp(name.nodename, given("REACH_HOSTNAME")) == 0) return reached("the host's name");
  return blocked(0, "a name that is not the host's");
}

Said kernel_version() {
  utsname name{};
  return must_work(::uname(&name), "the kernel's version, by uname");
}

Said processors() {
  cpu_set_t set;
  return must_work(::sched_getaffinity(0, sizeof set, &set), "the number of processors");
}

Said memory_and_load() {
  struct sysinfo info {};
  return must_work(::sysinfo(&info), "memory, load and uptime, by sysinfo");
}

Said hardware() {
  constexpr const char* kPaths[] = {"/sys/class/dmi/id/product_uuid",
                                    "/sys/class/dmi/id/product_name",
                                    "/sys/devices/system/cpu/online", "/sys/class/net/lo/address"};
  return any_of(kPaths, 4);
}

Said identity() {
  constexpr const char* kPaths[] = {"/etc/machine-id", "/var/lib/dbus/machine-id",
                                    "/proc/sys/kernel/random/boot_id"};
  return any_of(kPaths, 3);
}

Said sensors() {
  constexpr const char* kPaths[] = {"/sys/class/thermal/thermal_zone0/temp",
                                    "/sys/class/hwmon/hwmon0/name",
                                    "/sys/class/power_supply/BAT0/status"};
  return any_of(kPaths, 3);
}

Said host_wide_proc() {
  constexpr const char* kPaths[] = {"/proc/stat", "/proc/meminfo", "/proc/cpuinfo"};
  return any_of(kPaths, 3);
}

Said disks() {
  constexpr const char* kPaths[] = {"/proc/partitions", "/proc/diskstats"};
  return any_of(kPaths, 2);
}

Said interrupts() {
  constexpr const char* kPaths[] = {"/proc/interrupts", "/proc/softirqs", "/proc/schedstat"};
  return any_of(kPaths, 3);
}

Said command_line() {
  constexpr const char* kPaths[] = {"/proc/cmdline", "/proc/config.gz", "/proc/keys"};
  return any_of(kPaths, 3);
}

// Names without addresses say little: one address is enough.
Said kernel_addresses() {
  const char* text = content("/proc/kallsyms");
  if (text == nullptr) return blocked(errno, "read /proc/kallsyms");
  for (const char* line = text; line != nullptr && *line != '\0';) {
    if (std::strncmp(line, "0000000000000000", 16) != 0) return reached("addresses of the kernel");
    line = std::strchr(line, '\n');
    if (line != nullptr) ++line;
  }
  return blocked(0, "no addresses in /proc/kallsyms");
}

Said kernel_messages() {
  constexpr const char* kPaths[] = {"/dev/kmsg", "/proc/kmsg", "/var/log/dmesg", "/var/log/syslog"};
  return any_of(kPaths, 4);
}

Said mounts() {
  const char* text = content("/proc/self/mountinfo");
  return text == nullptr ? blocked(errno, "read /proc/self/mountinfo")
                         : reached("its own mounts, with their places on the host's disks");
}

// Of a name like user.slice or a container's id; "/" says nothing.
Said cgroup_path() {
  const char* text = content("/proc/self/cgroup");
  if (text == nullptr) return blocked(errno, "read /proc/self/cgroup");
  for (const char* line = text; (line = std::strchr(line, '/')) != nullptr; ++line)
    if (line[1] != '\n' && line[1] != '\0') return reached("the cgroup's path on the host");
  return blocked(0, "no path of the host's");
}

Said environment() {
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (std::strstr(*entry, "SECRET-OF-THE-CALLER") != nullptr)
      return reached("our caller's environment, with a secret in it");
  return blocked(0, "nothing of our caller's environment");
}

Said parents_environment() {
  char path[64];
  for (const int pid : {1, static_cast<int>(::getppid()), std::atoi(given("REACH_PID"))}) {
    std::snprintf(path, sizeof path, "/proc/%d/environ", pid);
    if (const char* text = content(path); text != nullptr && text[0] != '\0')
      return reached("the environment of another process");
  }
  return blocked(errno, "no environment of any other process");
}

// 65534 is what the kernel shows for each group that is not mapped: it says nothing.
Said groups() {
  gid_t list[64];
  const int count = ::getgroups(64, list);
  if (count < 0) return blocked(errno, "getgroups");
  for (int i = 0; i < count; ++i)
    if (list[i] != 65534 && list[i] != ::getgid()) return reached("our caller's groups");
  return blocked(0, "no group but its own");
}

Said root_inside() {
  return ::getuid() == 0 ? reached("uid 0") : blocked(0, "an unprivileged uid");
}

// Where ids of the namespace lie on the host: 0 where there is none.
Said id_map() {
  const char* text = content("/proc/self/uid_map");
  if (text == nullptr) return blocked(errno, "read /proc/self/uid_map");
  return reached("its own id map");
}

Said disk_size() {
  struct statfs here {};
  if (::statfs("/", &here) != 0) return blocked(errno, "statfs of /");
  const auto gib = static_cast<unsigned long>(here.f_blocks) / 1024 *
                   static_cast<unsigned long>(here.f_bsize) / (1UL << 20U);
  return gib >= 1 ? reached("the size of the host's disk") : blocked(0, "a small file system");
}

Said fine_clock() {
  timespec tick{};
  if (::clock_getres(CLOCK_MONOTONIC, &tick) != 0) {
    timespec now{};
    if (::clock_gettime(CLOCK_MONOTONIC, &now) != 0) return blocked(errno, "clock_gettime");
    return reached("a clock, without its resolution");
  }
  return tick.tv_nsec <= 1000 ? reached("a clock of nanoseconds") : blocked(0, "a coarse clock");
}

Said boot_time() {
  timespec now{};
  return must_work(::clock_gettime(CLOCK_BOOTTIME, &now), "the time since the host started");
}

Said working_folder() {
  char path[512];
  if (::getcwd(path, sizeof path) == nullptr) return blocked(errno, "getcwd");
  if (std::strstr(path, given("REACH_FOLDER_NAME")) != nullptr)
    return reached("a working folder that tells where it lies on the host");
  return blocked(0, "a working folder that says nothing");
}

Said terminal() {
  for (int fd = 0; fd < 3; ++fd)
    if (::isatty(fd) == 1) return reached("a terminal as standard stream");
  const int tty = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (tty < 0) return blocked(errno, "open /dev/tty");
  shut(tty);
  return reached("the terminal of our caller");
}

// UTC says nothing of where a host stands.
Said place() {
  const char* zone = content("/etc/timezone");
  const int error = errno;
  if (zone != nullptr && std::strstr(zone, "UTC") == nullptr && zone[0] != '\0')
    return reached("the time zone that the host is in");
  constexpr const char* kPaths[] = {"/etc/default/locale", "/etc/locale.conf"};
  const Said said = any_of(kPaths, 2);
  if (said.reached) return said;
  return zone == nullptr ? blocked(error, "no time zone and no locale")
                         : blocked(0, "UTC, and no locale of the host's");
}

constexpr Entry kEntries[] = {
    {"i01", host_name},
    {"i02", kernel_version},
    {"i03", processors},
    {"i04", memory_and_load},
    {"i05", hardware},
    {"i06", identity},
    {"i07", sensors},
    {"i08", host_wide_proc},
    {"i09", disks},
    {"i10", interrupts},
    {"i11", command_line},
    {"i12", kernel_addresses},
    {"i13", kernel_messages},
    {"i14", mounts},
    {"i15", cgroup_path},
    {"i16", environment},
    {"i17", parents_environment},
    {"i18", groups},
    {"i19", root_inside},
    {"i20", id_map},
    {"i21", disk_size},
    {"i22", fine_clock},
    {"i23", boot_time},
    {"i24", working_folder},
    {"i25", terminal},
    {"i26", place},
};

}  // namespace

Table information_probes() { return {kEntries, sizeof kEntries / sizeof kEntries[0]}; }

}  // namespace reach
