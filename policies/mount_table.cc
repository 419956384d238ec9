#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>

#include "policies/compile.h"
#include "policies/paths.h"
#include "policies/validate.h"

namespace policies {
namespace {

using jail::Mount;
using jail::MountKind;

Mount file(std::string target, std::string contents) {
  Mount m;
  m.kind = MountKind::kFile;
  m.target = std::move(target);
  m.contents = std::move(contents);
  m.mode = 0644;
  return m;
}

Mount link(std::string target, std::string text) {
  Mount m;
  m.kind = MountKind::kSymlink;
  m.source = std::move(text);
  m.target = std::move(target);
  return m;
}

Mount bind(const Bind& b) {
  Mount m;
  m.kind = MountKind::kBind;
  m.source = b.source;
  m.target = b.target;
  m.exec = b.exec;
  m.presence = b.presence;
  return m;
}

Mount tmpfs(const Tmpfs& fs, std::uint32_t mode) {
  Mount m;
  m.kind = MountKind::kTmpfs;
  m.target = fs.path;
  m.access = jail::Access::kReadWrite;
  m.exec = fs.exec;
  m.size = fs.size;
  m.inodes = fs.inodes;
  m.mode = mode;
  return m;
}

// Does `outer` show at inner.target what `inner` would?
bool covers(const Bind& outer, const Bind& inner) {
  if (outer.target == inner.target || !is_below(inner.target, outer.target)) return false;
  if (outer.presence == jail::Presence::kOptional || outer.exec != inner.exec) return false;
  const std::string_view rest = std::string_view(inner.target).substr(outer.target.size());
  return inner.source == outer.source + std::string(rest);
}

// Outer folders first, else they would hide the inner ones; each bind costs time, so no needless
// ones. A link in the inner path is followed by the outer view as well.
std::vector<Bind> ordered(std::vector<Bind> binds) {
  const std::vector<Bind> all = binds;
  std::erase_if(binds, [&](const Bind& inner) {
    return std::any_of(all.begin(), all.end(), [&](const Bind& b) { return covers(b, inner); });
  });
  const auto depth = [](const Bind& b) {
    return std::count(b.target.begin(), b.target.end(), '/');
  };
  std::stable_sort(binds.begin(), binds.end(),
                   [&](const Bind& a, const Bind& b) { return depth(a) < depth(b); });
  return binds;
}

class Table {
 public:
  explicit Table(const Policy& policy) : p_(policy) {}

  std::vector<Placed> make(const Extras& extras) {
    std::vector<Bind> binds = p_.files.read_only;
    for (const Bind& b : extras.read_only) {
      std::erase_if(binds, [&](const Bind& old) { return old.target == b.target; });
      binds.push_back(b);
    }
    binds_ = ordered(std::move(binds));
    // Links before binds: a bind of /bin/x must find /bin to be one.
    merged_usr();
    for (const Bind& b : binds_)
      if (!in_scratch(b)) add("files.read_only", bind(b));
    etc();
    // Only this jail's one uid and the supervisor, which may be another, can get there.
    constexpr std::uint32_t kOpen = 0777;
    add("files.workdir", tmpfs(p_.files.workdir, kOpen));
    constexpr std::uint32_t kShared = 01777;
    for (const Tmpfs& fs : p_.files.scratch) add("files.scratch", tmpfs(fs, kShared));
    // What is bound below a tmpfs would be hidden by it if it came first.
    for (const Bind& b : binds_)
      if (in_scratch(b)) add("files.read_only", bind(b));
    devices();
    return std::move(placed_);
  }

 private:
  void add(std::string_view key, Mount m) { placed_.push_back({std::move(m), std::string(key)}); }

  bool in_scratch(const Bind& b) const {
    return std::any_of(p_.files.scratch.begin(), p_.files.scratch.end(),
                       [&](const Tmpfs& fs) { return is_below(b.target, fs.path); });
  }

  // What a bind has put there already is not ours to make.
  bool bound(std::string_view path) const {
    return std::any_of(binds_.begin(), binds_.end(),
                       [&](const Bind& b) { return is_below(path, b.target); });
  }

  // Debian 12: /bin and the like are links into /usr. On a host where one is a folder, a policy
  // that needs it must bind it.
  void merged_usr() {
    for (const char* path : {"/bin", "/lib", "/lib64", "/sbin"}) {
      std::array<char, PATH_MAX> text{};
      const ssize_t n = ::readlink(path, text.data(), text.size());
      if (n <= 0 || bound(path)) continue;
      std::string target(text.data(), static_cast<std::size_t>(n));
      if (target == std::string("usr") + path || target == std::string("/usr") + path)
        add("files.read_only", link(path, std::string("usr") + path));
    }
  }

  // Names for the ids that exist here, and none of the host's.
  void etc() {
    const std::string home = p_.files.workdir.path;
    const std::array files{
        file("/etc/passwd",
             "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
             "sandbox:x:1000:1000:sandbox:" +
                 home +
                 ":/bin/sh\n"
                 "nobody:x:65534:65534:nobody:/nonexistent:"
                 "/usr/sbin/nologin\n"),
        file("/etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"),
        file("/etc/hosts", "127.0.0.1 localhost sandglass\n::1 localhost\n"),
        file("/etc/hostname", "sandglass\n"),
        file("/etc/resolv.conf", "# no network\n"),
        file("/etc/nsswitch.conf",
             "passwd: files\ngroup: files\nhosts: files\n"
             "services: files\nprotocols: files\n"),
        link("/etc/localtime", "/usr/share/zoneinfo/UTC"),
        file("/etc/timezone", "Etc/UTC\n"),
    };
    for (const Mount& m : files)
      if (!bound(m.target)) add("(made by Sandglass)", m);
  }

  void devices() {
    for (const std::string& path : p_.files.devices) {
      Mount m;
      m.kind = MountKind::kDevice;
      m.source = m.target = path;
      m.access = jail::Access::kReadWrite;
      add("files.devices", m);
    }
    if (p_.files.devpts) {
      Mount m;
      m.kind = MountKind::kDevpts;
      m.target = "/dev/pts";
      add("files.devpts", m);
      add("files.devpts", link("/dev/ptmx", "pts/ptmx"));
    }
    if (p_.files.mqueue) {
      Mount m;
      m.kind = MountKind::kMqueue;
      m.target = "/dev/mqueue";
      add("files.mqueue", m);
    }
    if (p_.files.proc == jail::ProcView::kNone) return;
    add("files.proc", link("/dev/fd", "/proc/self/fd"));
    add("files.proc", link("/dev/stdin", "/proc/self/fd/0"));
    add("files.proc", link("/dev/stdout", "/proc/self/fd/1"));
    add("files.proc", link("/dev/stderr", "/proc/self/fd/2"));
  }

  const Policy& p_;
  std::vector<Bind> binds_;
  std::vector<Placed> placed_;
};

}  // namespace

Result<std::vector<Placed>> mount_table(const Policy& policy, const Extras& extras) {
  for (const Bind& b : extras.read_only) {
    if (const std::string wrong = refuse_bind_source(b.source); !wrong.empty())
      return fail("--ro-bind: " + wrong);
    if (const std::string wrong = refuse_bind_source(b.target); !wrong.empty())
      return fail("--ro-bind: target: " + wrong);
    if (is_below(b.target, policy.files.workdir.path) ||
        is_below(policy.files.workdir.path, b.target))
      return fail("--ro-bind: target \"" + b.target + "\" overlaps the workdir \"" +
                  policy.files.workdir.path + '"');
  }
  return Table(policy).make(extras);
}

}  // namespace policies
