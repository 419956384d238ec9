// user_namespaces(7), mount_namespaces(7): every mount copied from the host is locked together
// with what lies below it, so binds are recursive; attributes are only ever added (mount_setattr),
// since clearing one that the host set is EPERM.
//
// Order: private · open every source (before anything can hide it) · tmpfs root over /proc, the
// one folder every host has · attach mounts[i] · fresh /proc (the kernel wants to see the old one
// still) · root read-only · pivot_root onto itself · detach the old root.
#include "jail/mounts.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "jail/folders.h"

namespace jail {
namespace {

constexpr const char* kNewRoot = "/proc";
constexpr const char* kMask = "/proc/.masked";  // in the new root
constexpr unsigned kTreeFlags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;

int open_tree(int folder, const char* path, unsigned flags) {
  return static_cast<int>(::syscall(SYS_open_tree, folder, path, flags));
}

int set_attributes(int tree, std::uint64_t attributes, unsigned flags) {
  mount_attr attr{};
  attr.attr_set = attributes;
  return static_cast<int>(
      ::syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | flags, &attr, sizeof(attr)));
}

int attach(int tree, int folder, const char* path) {
  return static_cast<int>(
      ::syscall(SYS_move_mount, tree, "", folder, path, MOVE_MOUNT_F_EMPTY_PATH));
}

// "/a/b" -> "a/b": below the new root's folder.
const char* relative(const char* path) { return path + 1; }

struct Options {
  std::array<char, 96> text{};
};

Options tmpfs_options(std::uint64_t size, std::uint64_t inodes, std::uint32_t mode) {
  Options o;
  std::snprintf(o.text.data(), o.text.size(), "size=%llu,nr_inodes=%llu,mode=%o",
                static_cast<unsigned long long>(size), static_cast<unsigned long long>(inodes),
                mode);
  return o;
}

// The host's root, and file systems that are doors into the kernel. Policies refuse them by name; a
// link may lead there all the same.
bool is_never_bound(int source, const struct stat& root) {
  struct stat st {};
  struct statfs fs {};
  if (::fstat(source, &st) != 0 || ::fstatfs(source, &fs) != 0) return true;
  if (st.st_dev == root.st_dev && st.st_ino == root.st_ino) return true;
  constexpr long kDoors[] = {PROC_SUPER_MAGIC,    SYSFS_MAGIC,   CGROUP_SUPER_MAGIC,
                             CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
                             SECURITYFS_MAGIC,    BPF_FS_MAGIC};
  for (const long door : kDoors)
    if (fs.f_type == door) return true;
  return false;
}

class Builder {
 public:
  explicit Builder(const PlanView& plan) : plan_(plan) {}

  Result<Tree> build() {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return fail(Step::kPrivateMounts, errno);
    if (auto r = open_sources(); !r) return tl::unexpected(r.error());
    if (auto r = make_root(); !r) return tl::unexpected(r.error());
    for (std::size_t i = 0; i < plan_.mounts().size(); ++i)
      if (const int e = attach_one(i); e != 0)
        return fail(Step::kMount, e, static_cast<std::uint16_t>(i));
    if (auto r = code_folder(); !r) return tl::unexpected(r.error());
    if (auto r = proc(); !r) return tl::unexpected(r.error());
    if (auto r = become_root(); !r) return tl::unexpected(r.error());
    tree_.workdir.reset(
        ::open(plan_.text(plan_.header().workdir), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!tree_.workdir.valid()) return fail(Step::kMount, errno, 0xffff);
    return std::move(tree_);
  }

 private:
  Result<void> open_sources() {
    const auto mounts = plan_.mounts();
    struct stat root {};
    if (::stat("/", &root) != 0) return fail(Step::kOpenSource, errno);
    for (std::size_t i = 0; i < mounts.size(); ++i) {
      const PlanMount& m = mounts[i];
      if (m.kind != MountKind::kBind && m.kind != MountKind::kDevice) continue;
      sources_[i].reset(open_tree(AT_FDCWD, plan_.text(m.source), kTreeFlags));
      if (sources_[i].valid()) {
        if (m.kind == MountKind::kBind && is_never_bound(sources_[i].get(), root))
          return fail(Step::kOpenSource, EINVAL, static_cast<std::uint16_t>(i));
        continue;
      }
      if (m.presence == Presence::kOptional && errno == ENOENT) continue;
      return fail(Step::kOpenSource, errno, static_cast<std::uint16_t>(i));
    }
    return {};
  }

  Result<void> make_root() {
    const Options o = tmpfs_options(std::uint64_t{16} << 20U, 4096, 0755);
    if (::mount("root", kNewRoot, "tmpfs", MS_NOSUID | MS_NODEV, o.text.data()) != 0)
      return fail(Step::kRoot, errno);
    root_.reset(::open(kNewRoot, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root_.valid()) return fail(Step::kRoot, errno);
    return {};
  }

  // 0 or an errno.
  int attach_one(std::size_t i) {
    const PlanMount& m = plan_.mounts()[i];
    const char* target = nullptr;
    if (const int e = find_parent(plan_.text(m.target), target); e != 0) return e;
    const int at = parent_.fd.get();
    switch (m.kind) {
      case MountKind::kBind:
      case MountKind::kDevice:
        return sources_[i].valid() ? bind(m, sources_[i].get(), at, target) : 0;
      case MountKind::kTmpfs:
        return tmpfs(m, at, target);
      case MountKind::kDir:
        return ::mkdirat(at, target, m.mode) == 0 || errno == EEXIST ? 0 : errno;
      case MountKind::kSymlink:
        return ::symlinkat(plan_.text(m.source), at, target) == 0 ? 0 : errno;
      case MountKind::kFile:
        return file(m, at, target);
      case MountKind::kDevpts:
        return special("devpts", "newinstance,ptmxmode=0666,mode=0620", at, target);
      case MountKind::kMqueue:
        return special("mqueue", nullptr, at, target);
    }
    return EINVAL;
  }

  // Many in a row have the same.
  int find_parent(const char* path, const char*& name) {
    const auto length = static_cast<std::size_t>(std::strrchr(path, '/') - path);
    name = path + length + 1;
    const std::string_view parent(path, length);
    if (parent_.fd.valid() && parent == parent_path_) return 0;
    parent_path_ = parent;
    parent_ = open_parent(root_.get(), relative(path), Links::kInRoot, name);
    return parent_.fd.valid() ? 0 : parent_.error;
  }

  static int bind(const PlanMount& m, int source, int parent, const char* name) {
    struct stat st {};
    if (::fstat(source, &st) != 0) return errno;
    if (m.kind == MountKind::kDevice && !S_ISCHR(st.st_mode)) return ENXIO;
    // A folder of the host is the operator's word; a socket or FIFO would be a door.
    if (m.kind == MountKind::kBind && !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) return EINVAL;
    std::uint64_t attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
    if (m.kind == MountKind::kBind) attributes |= MOUNT_ATTR_NODEV;
    if (m.kind == MountKind::kDevice || m.exec == Exec::kNoExec) attributes |= MOUNT_ATTR_NOEXEC;
    if (set_attributes(source, attributes, AT_RECURSIVE) != 0) return errno;
    if (const int e = make_point(parent, name, S_ISDIR(st.st_mode)); e != 0) return e;
    // move_mount(2): without MOVE_MOUNT_T_SYMLINKS a link at the end is not followed.
    return attach(source, parent, name) == 0 ? 0 : errno;
  }

  // The place to attach at: it may already exist inside an earlier bind.
  static int make_point(int parent, const char* name, int is_folder) {
    if (is_folder != 0)
      return ::mkdirat(parent, name, 0755) == 0 || errno == EEXIST || errno == EROFS ? 0 : errno;
    const Fd point(::openat(parent, name, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0444));
    return point.valid() || errno == EROFS || errno == EACCES ? 0 : errno;
  }

  // A fresh file system on the folder `name`, which exists or is made. mount(2) takes a path and
  // follows what it finds there: the path is "." in a folder opened without following.
  static int mount_at(int parent, const char* name, const char* type, unsigned long flags,
                      const char* options) {
    if (::mkdirat(parent, name, 0755) != 0 && errno != EEXIST) return errno;
    const Fd folder(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder.valid() || ::fchdir(folder.get()) != 0) return errno;
    return ::mount(type, ".", type, flags, options) == 0 ? 0 : errno;
  }

  static int tmpfs(const PlanMount& m, int parent, const char* name) {
    unsigned long flags = MS_NOSUID | MS_NODEV;
    if (m.exec == Exec::kNoExec) flags |= MS_NOEXEC;
    if (m.access == Access::kReadOnly) flags |= MS_RDONLY;
    const Options o = tmpfs_options(m.size, m.inodes, m.mode);
    return mount_at(parent, name, "tmpfs", flags, o.text.data());
  }

  int file(const PlanMount& m, int parent, const char* name) {
    const Fd f(::openat(parent, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, m.mode));
    if (!f.valid()) return errno;
    const char* data = plan_.text(m.contents);
    std::size_t left = m.contents.length;
    while (left > 0) {
      const ssize_t n = ::write(f.get(), data, left);
      if (n < 0) return errno;
      data += n;
      left -= static_cast<std::size_t>(n);
    }
    return 0;
  }

  // A file system whose content belongs to one of the jail's namespaces.
  static int special(const char* type, const char* options, int parent, const char* name) {
    const unsigned long nodev = std::strcmp(type, "devpts") == 0 ? 0 : MS_NODEV;
    return mount_at(parent, name, type, MS_NOSUID | MS_NOEXEC | nodev, options);
  }

  // The payload sees code_dir read-only; init keeps a second, writable view of the same tmpfs.
  Result<void> code_folder() {
    const PlanHeader& h = plan_.header();
    if (h.code_dir.length == 0) return {};
    const auto failed = [](int error) { return fail(Step::kMount, error, 0xffff); };
    const char* name = nullptr;
    const Folder parent =
        open_parent(root_.get(), relative(plan_.text(h.code_dir)), Links::kInRoot, name);
    if (!parent.fd.valid()) return failed(parent.error);
    if (::mkdirat(parent.fd.get(), name, 0755) != 0) return failed(errno);
    const Options o = tmpfs_options(h.code_size, 1024, 0755);
    constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    const int e = mount_at(parent.fd.get(), name, "tmpfs", kFlags, o.text.data());
    if (e != 0) return failed(e);
    const Fd writable(open_tree(parent.fd.get(), name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    if (!writable.valid()) return failed(errno);
    const Fd seen(::openat(parent.fd.get(), name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!seen.valid() || set_attributes(seen.get(), MOUNT_ATTR_RDONLY, 0) != 0)
      return failed(errno);
    tree_.code.reset(::openat(writable.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!tree_.code.valid()) return failed(errno);
    return {};
  }

  Result<void> proc() {
    const ProcView view = plan_.header().proc;
    if (view == ProcView::kNone) return {};
    if (::mkdirat(root_.get(), "proc", 0555) != 0 && errno != EEXIST)
      return fail(Step::kProc, errno);
    // proc(5): hidepid=invisible hides what may not be ptraced; PID 1 is not dumpable, so it is
    // hidden too. subset=pid leaves out every file that is not about a process.
    const char* options =
        view == ProcView::kOwnPids ? "hidepid=invisible,subset=pid" : "hidepid=invisible";
    constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    if (::mount("proc", "/proc/proc", "proc", kFlags, options) != 0)
      return fail(Step::kProc, errno);
    return view == ProcView::kMasked ? mask_proc() : Result<void>();
  }

  // What tells of the host, or reaches it, in a whole /proc. A folder is covered by an empty
  // read-only tmpfs, a file by an empty read-only one; one that this kernel lacks needs no cover.
  Result<void> mask_proc() {
    constexpr const char* kFolders[] = {"acpi", "asound", "bus",  "driver", "dynamic_debug",
                                        "fs",   "irq",    "scsi", "sys",    "tty"};
    constexpr const char* kFiles[] = {
        "config.gz",   "consoles",   "devices",      "diskstats",     "interrupts",  "iomem",
        "ioports",     "kallsyms",   "kcore",        "key-users",     "keys",        "kmsg",
        "kpagecgroup", "kpagecount", "kpageflags",   "latency_stats", "locks",       "mdstat",
        "misc",        "modules",    "mtrr",         "partitions",    "sched_debug", "schedstat",
        "slabinfo",    "softirqs",   "swaps",        "sysrq-trigger", "timer_list",  "timer_stats",
        "vmallocinfo", "buddyinfo",  "pagetypeinfo", "zoneinfo",      "cmdline",     "execdomains",
        "pressure",    "bootconfig", "allocinfo"};
    std::array<char, 128> path;
    for (const char* name : kFolders) {
      std::snprintf(path.data(), path.size(), "/proc/proc/%s", name);
      constexpr unsigned long kFlags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
      if (::mount("mask", path.data(), "tmpfs", kFlags, "size=4k,nr_inodes=2,mode=0555") != 0 &&
          errno != ENOENT)
        return fail(Step::kProc, errno, 1);
    }
    if (const int e = make_mask(); e != 0) return fail(Step::kProc, e, 3);
    for (const char* name : kFiles) {
      std::snprintf(path.data(), path.size(), "/proc/proc/%s", name);
      if (::mount(kMask, path.data(), nullptr, MS_BIND, nullptr) != 0 && errno != ENOENT &&
          errno != ENOTDIR)
        return fail(Step::kProc, errno, 2);
    }
    return {};
  }

  // An empty file that can't be opened for writing either, as /dev/null could: a bind of a
  // read-only bind is read-only.
  int make_mask() {
    const Fd file(::open(kMask, O_CREAT | O_WRONLY | O_CLOEXEC, 0444));
    if (!file.valid()) return errno;
    const Fd tree(open_tree(AT_FDCWD, kMask, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    if (!tree.valid()) return errno;
    constexpr std::uint64_t kBits = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSUID;
    if (set_attributes(tree.get(), kBits | MOUNT_ATTR_NODEV, 0) != 0) return errno;
    return attach(tree.get(), AT_FDCWD, kMask) == 0 ? 0 : errno;
  }

  Result<void> become_root() {
    if (set_attributes(root_.get(), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, 0) != 0)
      return fail(Step::kReadOnlyRoot, errno);
    if (::fchdir(root_.get()) != 0) return fail(Step::kPivotRoot, errno);
    // pivot_root(2): new_root and put_old may be the same folder; the old root is then on top.
    if (::syscall(SYS_pivot_root, ".", ".") != 0) return fail(Step::kPivotRoot, errno);
    if (::umount2(".", MNT_DETACH) != 0) return fail(Step::kDetachOldRoot, errno);
    if (::chdir("/") != 0) return fail(Step::kDetachOldRoot, errno);
    return {};
  }

  const PlanView& plan_;
  Fd root_;
  Folder parent_;  // of the mount that was attached last
  std::string_view parent_path_;
  Tree tree_;
  std::array<Fd, kMaxMounts> sources_;
};

}  // namespace

Result<Tree> build_tree(const PlanView& plan) {
  Builder builder(plan);
  return builder.build();
}

}  // namespace jail
