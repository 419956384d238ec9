// Files outside, by their path and by detours; mounts and roots; devices and the kernel's own
// file systems.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "runner/reach/helper/say.h"

namespace reach {
namespace {

const char* canary() { return given("REACH_CANARY"); }

struct Path {
  char text[700] = "";
};

Path joined(const char* before, const char* after) {
  Path path;
  std::snprintf(path.text, sizeof path.text, "%.300s%.300s", before, after);
  return path;
}

Said by_first(const char* const* prefixes, std::size_t count) {
  Said said = blocked(ENOENT, "no way there");
  for (std::size_t i = 0; i < count; ++i) {
    said = read_canary(joined(prefixes[i], canary()).text);
    if (said.reached) return said;
  }
  return said;
}

Said proc_root() {
  constexpr const char* kWays[] = {"/proc/self/root", "/proc/thread-self/root", "/proc/1/root",
                                   "/proc/1/cwd/../../../../.."};
  return by_first(kWays, 4);
}

Said process_root() {
  const Path root = joined("/proc/", joined(given("REACH_PID"), "/root").text);
  const Path cwd = joined("/proc/", joined(given("REACH_PID"), "/cwd/../../../../../..").text);
  const char* const ways[] = {root.text, cwd.text};
  return by_first(ways, 2);
}

Said climb() {
  constexpr const char* kWays[] = {"../../../../../../../../..", "/tmp/../../../..", "//../../.."};
  return by_first(kWays, 3);
}

Said symlink_out() {
  ::unlink("reach-link");
  if (::symlink(canary(), "reach-link") != 0) return blocked(errno, "symlink");
  const Said said = read_canary("reach-link");
  ::unlink("reach-link");
  return said;
}

Said hard_link() {
  ::unlink("reach-hard");
  const Said said = must_work(::link(given("REACH_OWN"), "reach-hard"), "link to a file outside");
  ::unlink("reach-hard");
  return said;
}

Said create_outside() {
  const Path path = joined(given("REACH_FOLDER"), "/reach-made");
  const int file = ::open(path.text, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return blocked(errno, "create in the folder outside");
  shut(file);
  ::unlink(path.text);
  return reached("created a file outside");
}

Said rename_outside() {
  const Path moved = joined(given("REACH_OWN"), ".moved");
  if (::rename(given("REACH_OWN"), moved.text) != 0) return blocked(errno, "rename a file outside");
  return must_work(::rename(moved.text, given("REACH_OWN")), "moving a file outside, and back");
}

Said carry_out() {
  if (!write_file("reach-carried", "x")) return blocked(errno, "no file of our own");
  const Path target = joined(given("REACH_FOLDER"), "/reach-carried");
  const long moved = ::rename("reach-carried", target.text);
  const Said said = must_work(moved, "moving a file of ours outside");
  ::unlink("reach-carried");
  ::unlink(target.text);
  return said;
}

Said change_mode() {
  return must_work(::chmod(given("REACH_OWN"), 0666), "chmod of a file outside");
}

// In any of several places: what is writable for everybody on a host is on the list.
Said write_system() {
  constexpr const char* kPlaces[] = {"",     "/usr",  "/etc",     "/lib",      "/usr/lib/python3",
                                     "/var", "/home", "/var/tmp", "/run/lock", "/opt"};
  Said said;
  for (const char* place : kPlaces) {
    const Path path = joined(place, "/reach-made-here");
    const int file = ::open(path.text, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) {
      said = blocked(errno, "create %s", path.text);
      continue;
    }
    shut(file);
    ::unlink(path.text);
    return reached("created %s", path.text);
  }
  return said;
}

Said list_folder(const char* path) {
  DIR* folder = ::opendir(path);
  if (folder == nullptr) return blocked(errno, "list %s", path);
  ::closedir(folder);
  return reached("listed %s", path);
}

Said homes() {
  const Said said = list_folder("/root");
  return said.reached ? said : list_folder("/home");
}

Said accounts() {
  const int file = ::open("/etc/passwd", O_RDONLY | O_CLOEXEC);
  if (file < 0) return blocked(errno, "open /etc/passwd");
  char text[8192];
  const ssize_t got = ::read(file, text, sizeof text);
  shut(file);
  int lines = 0;
  for (ssize_t i = 0; i < got; ++i) lines += text[i] == '\n' ? 1 : 0;
  if (lines <= 4) return blocked(0, "%d accounts, none of the host's", lines);
  return reached("%d accounts of the host", lines);
}

Said tmpfs() {
  return with_borrowed_root(CLONE_NEWNS, [] {
    return must_work(::mount("none", "/tmp", "tmpfs", 0, "size=64k"), "mount of a tmpfs");
  });
}

Said bind_root() {
  return with_borrowed_root(CLONE_NEWNS, [] {
    return must_work(::mount("/", "/tmp", nullptr, MS_BIND | MS_REC, nullptr), "bind mount of /");
  });
}

Said fsopen_tmpfs() {
  return with_borrowed_root(CLONE_NEWNS,
                            [] { return must_work(call(SYS_fsopen, "tmpfs", 0), "fsopen"); });
}

Said clone_tree() {
  return with_borrowed_root(CLONE_NEWNS, [] {
    return must_work(call(SYS_open_tree, AT_FDCWD, "/", 1 | AT_RECURSIVE), "open_tree of a copy");
  });
}

Said mount_attributes() {
  return with_borrowed_root(CLONE_NEWNS, [] {
    unsigned long attr[4] = {1, 0, 0, 0};  // read-only
    return must_work(call(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, attr, sizeof attr),
                     "mount_setattr");
  });
}

// Only what is free to be unmounted; with MNT_DETACH it goes from this namespace alone.
Said unmount_masks() {
  return with_borrowed_root(CLONE_NEWNS, [] {
    if (::mount("none", "/tmp", "tmpfs", 0, "size=64k") == 0)
      return must_work(::umount2("/tmp", MNT_DETACH), "unmounting");
    return looked_at(::umount2("/proc/sys", MNT_DETACH), "umount2");
  });
}

Said pivot() {
  return with_borrowed_root(
      CLONE_NEWNS, [] { return looked_at(call(SYS_pivot_root, "/tmp", "/tmp"), "pivot_root"); });
}

// chroot(2): with the working folder outside of the new root, ".." leads up to the real one.
Said chroot_out() {
  return with_borrowed_root(CLONE_NEWNS, [] {
    const int here = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (here < 0) return blocked(errno, "open .");
    ::mkdir("reach-root", 0700);
    const int changed = ::chroot("reach-root");
    const int error = errno;
    (void)!::fchdir(here);
    ::rmdir("reach-root");
    if (changed != 0) return blocked(error, "chroot");
    for (int i = 0; i < 64; ++i) (void)!::chdir("..");
    (void)!::chroot(".");
    return read_canary(canary());
  });
}

struct Handle {
  unsigned bytes = 128;
  int type = 0;
  char data[128] = {};
};

Said handle_of() {
  Handle handle;
  int mount = 0;
  return looked_at(call(SYS_name_to_handle_at, AT_FDCWD, "/", &handle, &mount, 0),
                   "name_to_handle_at");
}

Said open_handle() {
  Handle handle;
  int mount = 0;
  call(SYS_name_to_handle_at, AT_FDCWD, ".", &handle, &mount, 0);
  const int here = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const Said said =
      looked_at(call(SYS_open_by_handle_at, here, &handle, O_RDONLY), "open_by_handle_at");
  shut(here);
  return said;
}

Said device_node() {
  const long made = ::mknod("reach-node", S_IFCHR | 0600, makedev(1, 3));
  const Said said = must_work(made, "mknod of a device");
  ::unlink("reach-node");
  return said;
}

// A device number of zero is overlayfs's mark for "deleted", and needs no capability.
Said whiteout() {
  const long made = ::mknod("reach-white", S_IFCHR | 0600, makedev(0, 0));
  const Said said = must_work(made, "mknod of a whiteout");
  ::unlink("reach-white");
  return said;
}

Said first_open(const char* const* paths, std::size_t count, int flags) {
  Said said;
  for (std::size_t i = 0; i < count; ++i) {
    said = open_it(paths[i], flags);
    if (said.reached) return said;
  }
  return said;
}

Said raw_devices() {
  constexpr const char* kPaths[] = {"/dev/mem",   "/dev/kmem",    "/dev/port",
                                    "/dev/sda",   "/dev/nvme0n1", "/dev/vda",
                                    "/dev/loop0", "/dev/kvm",     "/dev/mapper/control"};
  return first_open(kPaths, 9, O_RDONLY);
}

Said proc_switches() {
  constexpr const char* kPaths[] = {"/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern",
                                    "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches",
                                    "/proc/irq/default_smp_affinity"};
  return first_open(kPaths, 5, O_WRONLY);
}

Said sys_switches() {
  constexpr const char* kPaths[] = {"/sys/kernel/uevent_helper", "/sys/power/state",
                                    "/sys/kernel/security/apparmor/.replace",
                                    "/sys/kernel/mm/ksm/run"};
  return first_open(kPaths, 4, O_WRONLY);
}

Said cgroup_write() {
  constexpr const char* kPaths[] = {
      "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/cgroup.subtree_control",
      "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/memory.max"};
  return first_open(kPaths, 4, O_WRONLY);
}

// CVE-2022-0492: a mount of a cgroup file system of one's own, with one's own release_agent.
Said cgroup_mount() {
  return with_borrowed_root(CLONE_NEWNS | CLONE_NEWCGROUP, [] {
    if (::mount("none", "/tmp", "cgroup2", 0, nullptr) == 0) return reached("mounted cgroup2");
    return must_work(::mount("none", "/tmp", "cgroup", 0, "none,name=reach"), "mount of a cgroup");
  });
}

Said sys_listed() { return list_folder("/sys"); }

Said shadow() { return open_it("/etc/shadow", O_RDONLY); }

Said setuid_bit() {
  if (!write_file("reach-suid", "#!")) return blocked(errno, "no file of our own");
  const Said said = must_work(::chmod("reach-suid", 04755), "chmod with set-user-id");
  ::unlink("reach-suid");
  return said;
}

Said other_owner() {
  if (!write_file("reach-owned", "x")) return blocked(errno, "no file of our own");
  const Said said = must_work(::chown("reach-owned", 0, 0), "chown to root");
  ::unlink("reach-owned");
  return said;
}

Said file_capability() {
  return with_borrowed_root(CLONE_NEWNS, [] {
    if (!write_file("reach-caps", "x")) return blocked(errno, "no file of our own");
    const unsigned value[5] = {0x02000001, 1U << 21U, 0, 0, 0};
    const Said said =
        must_work(call(SYS_setxattr, "reach-caps", "security.capability", value, sizeof value, 0),
                  "setxattr of security.capability");
    ::unlink("reach-caps");
    return said;
  });
}

Said docker_socket() {
  constexpr const char* kPaths[] = {"/var/run/docker.sock", "/run/containerd/containerd.sock",
                                    "/run/podman/podman.sock", "/run/dbus/system_bus_socket"};
  Said said;
  for (const char* path : kPaths) {
    struct stat st {};
    if (::stat(path, &st) == 0) return reached("%s is there", path);
    said = blocked(errno, "%s", path);
  }
  return said;
}

Said fuse() {
  return with_borrowed_root(CLONE_NEWNS, [] { return open_it("/dev/fuse", O_RDWR); });
}

// A minimal root has no folder of programs, or a few.
Said programs() {
  DIR* folder = ::opendir("/usr/bin");
  if (folder == nullptr) return blocked(errno, "list /usr/bin");
  int count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count > 40 ? reached("the host's programs in /usr/bin") : blocked(0, "few programs");
}

// What everybody on a host leaves in one place.
Said shared_tmp() {
  struct stat st {};
  return must_work(::stat(given("REACH_TMP"), &st), "seeing a file in the host's /tmp");
}

constexpr Entry kEntries[] = {
    {"f01", [] { return read_canary(canary()); }},
    {"f02", proc_root},
    {"f03", process_root},
    {"f04", climb},
    {"f05", symlink_out},
    {"f06", hard_link},
    {"f07", create_outside},
    {"f08", [] { return open_it(given("REACH_OWN"), O_WRONLY | O_APPEND); }},
    {"f09", rename_outside},
    {"f10", carry_out},
    {"f11", change_mode},
    {"f12", write_system},
    {"f13", shadow},
    {"f14", homes},
    {"f15", accounts},
    {"f16", tmpfs},
    {"f17", bind_root},
    {"f18", fsopen_tmpfs},
    {"f19", clone_tree},
    {"f20", mount_attributes},
    {"f21", unmount_masks},
    {"f22", pivot},
    {"f23", chroot_out},
    {"f24", handle_of},
    {"f25", open_handle},
    {"f26", device_node},
    {"f27", whiteout},
    {"f28", raw_devices},
    {"f29", [] { return list_folder("/var/log"); }},
    {"f30", proc_switches},
    {"f31", sys_switches},
    {"f32", cgroup_write},
    {"f33", cgroup_mount},
    {"f34", sys_listed},
    {"f35", setuid_bit},
    {"f36", other_owner},
    {"f37", file_capability},
    {"f38", docker_socket},
    {"f39", fuse},
    {"f40", programs},
    {"f49", shared_tmp},
    {"f56", [] { return must_work(::unlink(given("REACH_OWN")), "deleting a file outside"); }},
};

}  // namespace

Table file_probes() { return {kEntries, sizeof kEntries / sizeof kEntries[0]}; }

}  // namespace reach
