#include "jail/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>

#include "jail/cgroup_find.h"
#include "jail/text_file.h"

namespace jail {
namespace {

constexpr const char* kPrefix = "sandglass-";
constexpr std::array<const char*, kControllers> kV1Names{"memory", "pids", "cpuacct"};

Fd open_folder(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

struct CloseDir {
  void operator()(DIR* d) const { ::closedir(d); }
};

std::vector<std::string> subfolders(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseDir> dir(::opendir(path.c_str()));
  if (!dir) return names;
  while (const dirent* entry = ::readdir(dir.get()))
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  return names;
}

// Two levels are all we make: sandglass-PID / jail-N or worker.
bool remove_tree(const std::string& path) {
  for (const std::string& name : subfolders(path)) ::rmdir((path + "/" + name).c_str());
  return ::rmdir(path.c_str()) == 0 || errno == ENOENT;
}

void sweep_stale(const std::string& parent) {
  for (const std::string& name : subfolders(parent)) {
    if (name.rfind(kPrefix, 0) != 0) continue;
    const std::string path = parent + "/" + name;
    const Fd folder = open_folder(path);
    if (folder.valid() && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) remove_tree(path);
  }
}

// A folder without a lock is a dead spawner's, and swept. A new one has no lock yet either: whoever
// makes one looks, once it holds the lock, whether the folder is still there.
Fd make_locked(const std::string& path) {
  for (int tries = 0; tries < 100; ++tries) {
    const bool made = ::mkdir(path.c_str(), 0755) == 0;
    if (!made && errno != EEXIST) return Fd();
    Fd folder = open_folder(path);
    if (!folder.valid() && errno != ENOENT) {  // no descriptor left, say
      if (made) ::rmdir(path.c_str());
      return Fd();
    }
    struct stat held {};
    struct stat named {};
    if (folder.valid() && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0 &&
        ::fstat(folder.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
        held.st_ino == named.st_ino && held.st_dev == named.st_dev)
      return folder;
    ::usleep(1000);  // somebody sweeps
  }
  return Fd();
}

struct Found {
  std::optional<Hierarchy> v2;
  std::array<std::optional<Hierarchy>, kControllers> v1;
};

Found find_all() {
  Found found;
  const auto mounts = read_file(AT_FDCWD, "/proc/self/mountinfo");
  const auto own = read_file(AT_FDCWD, "/proc/self/cgroup");
  if (!mounts || !own) return found;
  const char* wish = ::secure_getenv("SANDGLASS_CGROUP");
  const std::string_view only = wish == nullptr ? "" : wish;
  if (only.empty() || only == "v2") found.v2 = find_v2(*mounts, *own);
  if (only.empty() || only == "v1")
    for (std::size_t c = 0; c < kControllers; ++c)
      found.v1[c] = find_v1(*mounts, *own, kV1Names[c]);
  return found;
}

bool offers(const Fd& folder, const char* file, std::string_view controller) {
  const auto text = read_file(folder.get(), file);
  return text && (" " + *text + " ").find(" " + std::string(controller)) != std::string::npos;
}

// cgroup-v2, "No Internal Process Constraint": only a folder without processes of its own may
// hand controllers down, so our own may refuse while an ancestor already does it.
bool hands_down(const Fd& folder, std::string_view controller) {
  if (offers(folder, "cgroup.subtree_control", controller)) return true;
  return write_file(folder.get(), "cgroup.subtree_control", "+" + std::string(controller)) == 0;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

struct Locked {
  std::string path;
  Fd folder;
};

// The nearest folder, from our own upwards, below which a folder can be made and limited.
Locked make_v2_base(const Hierarchy& h, const std::string& name, bool& memory, bool& pids) {
  for (std::string at = h.own; at.size() >= h.mount.size(); at = parent_of(at)) {
    const Fd folder = open_folder(at);
    if (folder.valid() && ::faccessat(folder.get(), ".", W_OK, AT_EACCESS) == 0) {
      memory = hands_down(folder, "memory");
      pids = hands_down(folder, "pids");
      const std::string path = at + "/" + name;
      if (Fd made = memory || pids ? make_locked(path) : Fd(); made.valid())
        return {path, std::move(made)};
    }
    if (at == h.mount) break;
  }
  return {};
}

int write_number(const Fd& folder, const char* file, std::uint64_t value) {
  return write_file(folder.get(), file, std::to_string(value));
}

int limit_v2(const Fd& folder, Controller c, const Totals& totals) {
  if (c == Controller::kPids && totals.processes > 0)
    return write_number(folder, "pids.max", totals.processes + 1);
  if (c != Controller::kMemory || totals.memory.value == 0) return 0;
  // Without these two a limit is not a limit (swap), or half a program goes on (one victim).
  write_number(folder, "memory.swap.max", 0);
  write_number(folder, "memory.oom.group", 1);
  return write_number(folder, "memory.max", totals.memory.value);
}

int limit_v1(const Fd& folder, Controller c, const Totals& totals) {
  if (c == Controller::kPids && totals.processes > 0)
    return write_number(folder, "pids.max", totals.processes + 1);
  if (c != Controller::kMemory || totals.memory.value == 0) return 0;
  const int error = write_number(folder, "memory.limit_in_bytes", totals.memory.value);
  // memsw is absent where swap is not accounted; the plain limit must come first.
  if (error == 0) write_number(folder, "memory.memsw.limit_in_bytes", totals.memory.value);
  return error;
}

std::uint64_t number_in(const Fd& folder, const char* file) {
  const auto text = read_file(folder.get(), file);
  return text ? first_number(*text).value_or(0) : 0;
}

std::uint64_t number_in(const Fd& folder, const char* file, std::string_view key) {
  const auto text = read_file(folder.get(), file);
  return text ? keyed_number(*text, key).value_or(0) : 0;
}

}  // namespace

const Cgroup::Part* Cgroup::part(Controller c) const {
  const int i = index_[static_cast<std::size_t>(c)];
  return i < 0 ? nullptr : &parts_[static_cast<std::size_t>(i)];
}

int Cgroup::v2_folder() const {
  for (const Part& p : parts_)
    if (p.kind == Enforcer::kCgroupV2) return p.folder.get();
  return -1;
}

int Cgroup::enter_v1() const {
  for (const Part& p : parts_) {
    if (p.kind != Enforcer::kCgroupV1) continue;
    if (::write(p.tasks.get(), "0", 1) != 1) return errno;
  }
  return 0;
}

void Cgroup::close_tasks() {
  for (Part& p : parts_) p.tasks.reset();
}

std::vector<Fd> Cgroup::entrances() {
  std::vector<Fd> files;
  for (Part& p : parts_) {
    if (p.tasks.valid()) {
      files.push_back(std::move(p.tasks));
      continue;
    }
    const char* name = p.kind == Enforcer::kCgroupV1 ? "tasks" : "cgroup.procs";
    files.emplace_back(::openat(p.folder.get(), name, O_WRONLY | O_CLOEXEC));
  }
  return files;
}

CgroupStats Cgroup::stats() const {
  CgroupStats s;
  if (const Part* p = part(Controller::kMemory)) {
    const bool v2 = p->kind == Enforcer::kCgroupV2;
    s.peak_memory.value = number_in(p->folder, v2 ? "memory.peak" : "memory.max_usage_in_bytes");
    s.oom_kills = oom_kills();
  }
  if (const Part* p = part(Controller::kPids))
    s.process_limit_hits = number_in(p->folder, "pids.events", "max");
  s.cpu_time = Millis(cpu_usec() / 1000);
  return s;
}

std::uint64_t Cgroup::cpu_usec() const {
  const Part* p = part(Controller::kCpu);
  if (p == nullptr) return 0;
  return p->kind == Enforcer::kCgroupV2 ? number_in(p->folder, "cpu.stat", "usage_usec")
                                        : number_in(p->folder, "cpuacct.usage") / 1000;
}

std::uint64_t Cgroup::oom_kills() const {
  const Part* p = part(Controller::kMemory);
  if (p == nullptr) return 0;
  const bool v2 = p->kind == Enforcer::kCgroupV2;
  return number_in(p->folder, v2 ? "memory.events" : "memory.oom_control", "oom_kill");
}

MeterFiles Cgroup::meter_files() const {
  MeterFiles meter;
  const auto open = [&](MeterFiles::File file, const Part& part, const char* name, int flags) {
    meter.files[file].reset(::openat(part.folder.get(), name, flags | O_CLOEXEC));
  };
  if (const Part* p = part(Controller::kMemory)) {
    meter.is_v2 = p->kind == Enforcer::kCgroupV2;
    const char* peak = meter.is_v2 ? "memory.peak" : "memory.max_usage_in_bytes";
    open(MeterFiles::kPeakMemory, *p, peak, O_RDWR);
    if (!meter.files[MeterFiles::kPeakMemory].valid())
      open(MeterFiles::kPeakMemory, *p, peak, O_RDONLY);
    open(MeterFiles::kMemoryEvents, *p, meter.is_v2 ? "memory.events" : "memory.oom_control",
         O_RDONLY);
  }
  if (const Part* p = part(Controller::kPids))
    open(MeterFiles::kProcessEvents, *p, "pids.events", O_RDONLY);
  if (const Part* p = part(Controller::kCpu))
    open(MeterFiles::kCpu, *p, p->kind == Enforcer::kCgroupV2 ? "cpu.stat" : "cpuacct.usage",
         O_RDONLY);
  return meter;
}

// cgroup-v1/memory.txt: writing resets it. v2: memory.peak can be written since Linux 6.12, but
// then counts for that descriptor only.
void Cgroup::reset_peak() const {
  const Part* p = part(Controller::kMemory);
  if (p != nullptr && p->kind == Enforcer::kCgroupV1)
    write_file(p->folder.get(), "memory.max_usage_in_bytes", "0");
}

bool Cgroup::remove() {
  bool all = true;
  for (const Part& p : parts_)
    if (::unlinkat(p.base, p.name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) all = false;
  return all;
}

Cgroups Cgroups::make(pid_t keeper) {
  Cgroups made;
  const Found found = find_all();
  const std::string name = kPrefix + std::to_string(keeper);
  const auto adopt = [&made](Enforcer kind, std::string path, Fd folder) {
    made.bases_.push_back(Base{kind, std::move(path), std::move(folder)});
    return static_cast<int>(made.bases_.size() - 1);
  };
  if (found.v2) {
    sweep_stale(found.v2->own);
    bool memory = false;
    bool pids = false;
    Locked base = make_v2_base(*found.v2, name, memory, pids);
    if (base.folder.valid()) {
      const int i = adopt(Enforcer::kCgroupV2, std::move(base.path), std::move(base.folder));
      const Fd& folder = made.bases_.back().folder;
      if (memory && hands_down(folder, "memory")) made.index_[0] = i;
      if (pids && hands_down(folder, "pids")) made.index_[1] = i;
      made.index_[2] = i;  // cpu.stat needs no controller
    }
  }
  for (std::size_t c = 0; c < kControllers; ++c) {
    if (made.index_[c] >= 0 || !found.v1[c]) continue;
    sweep_stale(found.v1[c]->own);
    std::string path = found.v1[c]->own + "/" + name;
    for (std::size_t i = 0; i < made.bases_.size(); ++i)  // two controllers in one hierarchy
      if (made.bases_[i].path == path) made.index_[c] = static_cast<int>(i);
    if (made.index_[c] >= 0) continue;
    Fd folder = make_locked(path);
    if (folder.valid())
      made.index_[c] = adopt(Enforcer::kCgroupV1, std::move(path), std::move(folder));
  }
  return made;
}

void Cgroups::hand_to(pid_t worker, uid_t uid, gid_t gid) {
  for (const Base& base : bases_) {
    // A file that this kind of cgroup lacks, or a refusal, shows when the first jail is made.
    std::ignore = ::fchown(base.folder.get(), uid, gid);
    for (const char* file : {"cgroup.procs", "cgroup.subtree_control", "tasks"})
      std::ignore = ::fchownat(base.folder.get(), file, uid, gid, 0);
    if (base.kind != Enforcer::kCgroupV2) continue;
    // Moving a process needs write permission on the common ancestor's cgroup.procs: with the
    // worker inside our folder, that ancestor is our folder.
    const std::string leaf = base.path + "/worker";
    if (::mkdir(leaf.c_str(), 0755) != 0) continue;
    write_file(open_folder(leaf).get(), "cgroup.procs", std::to_string(worker));
  }
}

Enforcer Cgroups::enforcer(Controller c) const {
  const int i = index_[static_cast<std::size_t>(c)];
  return i < 0 ? Enforcer::kNone : bases_[static_cast<std::size_t>(i)].kind;
}

Result<Cgroup> Cgroups::create(std::uint64_t serial, const Totals& totals) const {
  Cgroup made;
  std::vector<int> part_of(bases_.size(), -1);
  for (std::size_t c = 0; c < kControllers; ++c) {
    if (index_[c] < 0) continue;
    const Base& base = bases_[static_cast<std::size_t>(index_[c])];
    int& at = part_of[static_cast<std::size_t>(index_[c])];
    if (at < 0) {
      Cgroup::Part part;
      part.kind = base.kind;
      part.base = base.folder.get();
      part.name = "jail-" + std::to_string(serial);
      if (::mkdirat(part.base, part.name.c_str(), 0755) != 0) return fail(Step::kCgroup, errno);
      part.folder.reset(::openat(part.base, part.name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (base.kind == Enforcer::kCgroupV1)
        part.tasks.reset(::openat(part.folder.get(), "tasks", O_WRONLY | O_CLOEXEC));
      made.parts_.push_back(std::move(part));
      at = static_cast<int>(made.parts_.size() - 1);
    }
    made.index_[c] = at;
    const Cgroup::Part& part = made.parts_[static_cast<std::size_t>(at)];
    const auto controller = static_cast<Controller>(c);
    const int error = base.kind == Enforcer::kCgroupV2 ? limit_v2(part.folder, controller, totals)
                                                       : limit_v1(part.folder, controller, totals);
    if (error != 0) {
      made.remove();
      return fail(Step::kCgroup, error, static_cast<std::uint16_t>(c));
    }
  }
  return made;
}

std::optional<std::uint64_t> Cgroups::cpu_of_all() const {
  const int i = index_[static_cast<std::size_t>(Controller::kCpu)];
  if (i < 0) return std::nullopt;
  const Base& base = bases_[static_cast<std::size_t>(i)];
  const auto used = [&base](const char* file, const char* key) -> std::optional<std::uint64_t> {
    const auto text = read_file(base.folder.get(), file);
    if (!text) return std::nullopt;
    return key == nullptr ? first_number(*text) : keyed_number(*text, key);
  };
  if (base.kind == Enforcer::kCgroupV1) return used("cpuacct.usage", nullptr);
  // The worker lives in our folder too. What it uses between the two reads stays in the sum.
  const auto worker = used("worker/cpu.stat", "usage_usec");
  const auto all = used("cpu.stat", "usage_usec");
  if (!worker || !all) return std::nullopt;
  return *all - *worker;
}

bool Cgroups::remove() {
  bool all = true;
  for (const Base& base : bases_) all = remove_tree(base.path) && all;
  return all;
}

void remove_cgroups_of(pid_t keeper) noexcept {
  const Found found = find_all();
  const std::string name = "/" + (kPrefix + std::to_string(keeper));
  for (const auto& h : found.v1)
    if (h) remove_tree(h->own + name);
  if (!found.v2) return;
  for (std::string at = found.v2->own; at.size() >= found.v2->mount.size(); at = parent_of(at)) {
    remove_tree(at + name);
    if (at == found.v2->mount) break;
  }
}

}  // namespace jail
