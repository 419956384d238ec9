// The reading half of plan.h. May be called after fork.
#include "jail/plan.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace jail {
namespace {

// Checks offsets against one file; sticky: the first failure makes `ok` false for good.
class Checker {
 public:
  explicit Checker(std::span<const std::byte> file) : file_(file) {}

  [[nodiscard]] bool ok() const { return ok_; }
  void require(bool condition) { ok_ = ok_ && condition; }

  template <class T>
  std::span<const T> array(Array a, std::size_t most) {
    const std::uint64_t end = a.offset + std::uint64_t{a.count} * sizeof(T);
    require(a.count <= most && a.offset % alignof(T) == 0 && end <= file_.size());
    if (!ok_) return {};
    return {reinterpret_cast<const T*>(file_.data() + a.offset), a.count};
  }

  // Terminated where it says, and with no NUL before that unless `contents`.
  void text(Text t) {
    terminated(t);
    if (ok_) require(std::memchr(at(t), 0, t.length) == nullptr);
  }
  void terminated(Text t) {
    require(std::uint64_t{t.offset} + t.length < file_.size());
    if (ok_) require(at(t)[t.length] == '\0');
  }

  // "/", which is no path() since nothing can be mounted there.
  [[nodiscard]] bool is_root(Text t) {
    text(t);
    return ok_ && t.length == 1 && *at(t) == '/';
  }

  // Absolute, no empty, "." or ".." component, shorter than PATH_MAX.
  void path(Text t) {
    text(t);
    require(t.length > 1 && t.length < 4096);
    if (!ok_ || at(t)[0] != '/') return require(false);
    const char* p = at(t);
    while (*p == '/') {
      ++p;
      const std::size_t n = std::strcspn(p, "/");
      const bool dots = (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.');
      require(n > 0 && !dots);
      p += n;
    }
  }

 private:
  [[nodiscard]] const char* at(Text t) const {
    return reinterpret_cast<const char*>(file_.data() + t.offset);
  }
  std::span<const std::byte> file_;
  bool ok_ = true;
};

void check_mount(Checker& c, const PlanMount& m) {
  c.require(m.kind <= MountKind::kMqueue && m.access <= Access::kReadWrite &&
            m.exec <= Exec::kExec && m.presence <= Presence::kOptional && m.mode <= 01777);
  c.path(m.target);
  if (m.kind == MountKind::kBind || m.kind == MountKind::kDevice) c.path(m.source);
  if (m.kind == MountKind::kSymlink) {
    c.text(m.source);
    c.require(m.source.length > 0 && m.source.length < 4096);
  }
  if (m.kind == MountKind::kFile) c.terminated(m.contents);
  if (m.kind == MountKind::kTmpfs) c.require(m.size > 0 && m.inodes > 0);
  if (m.kind == MountKind::kBind || m.kind == MountKind::kDevice)
    c.require(m.access == Access::kReadOnly || m.kind == MountKind::kDevice);
}

template <class Header>
bool has_header(std::span<const std::byte> file, std::uint32_t magic) {
  if (file.size() < sizeof(Header)) return false;
  const auto* h = reinterpret_cast<const Header*>(file.data());
  return h->magic == magic && h->total == file.size();
}

// Offsets become pointers, in place; the slot after the last stays null (execve(2) wants that).
// Strings lie in the first `body` bytes, the slots behind them.
bool relocate(std::span<std::byte> file, std::size_t body, Array a, std::size_t least) {
  constexpr std::size_t kSlot = sizeof(std::uint64_t);
  const std::uint64_t end = a.offset + (std::uint64_t{a.count} + 1) * kSlot;
  if (a.count < least || a.offset < body || a.offset % kSlot != 0 || end > file.size())
    return false;
  for (std::uint64_t slot = a.offset; slot < end; slot += kSlot) {
    std::uint64_t at = 0;
    std::memcpy(&at, file.data() + slot, kSlot);
    if (slot + kSlot == end) return at == 0;
    if (at >= body || std::memchr(file.data() + at, 0, body - at) == nullptr) return false;
    const std::uint64_t pointer = reinterpret_cast<std::uint64_t>(file.data() + at);
    std::memcpy(file.data() + slot, &pointer, kSlot);
  }
  return false;
}

}  // namespace

Result<PlanView> PlanView::read(std::span<const std::byte> file) {
  if (!has_header<PlanHeader>(file, kPlanMagic)) return fail(Step::kPlan, EINVAL);
  const auto& h = *reinterpret_cast<const PlanHeader*>(file.data());
  Checker c(file);
  c.require(h.proc <= ProcView::kMasked && h.loopback <= Loopback::kUp &&
            h.landlock_net <= LandlockNet::kUnhandled && h.exec_once <= 1 && h.listens <= 1 &&
            h.start <= Start::kJoin);
  c.text(h.hostname);
  c.require(h.hostname.length > 0 && h.hostname.length <= 64);
  c.path(h.workdir);
  c.text(h.code_dir);
  if (h.code_dir.length > 0) c.path(h.code_dir);
  c.require(h.code_dir.length == 0 || h.code_size > 0);
  const auto mounts = c.array<PlanMount>(h.mounts, kMaxMounts);
  c.array<PlanRlimit>(h.rlimits, kMaxRlimits);
  c.array<sock_filter>(h.filter, BPF_MAXINSNS);
  c.array<sock_filter>(h.init_filter, BPF_MAXINSNS);
  c.require(h.filter.count > 0 && h.init_filter.count > 0);
  if (!c.ok()) return fail(Step::kPlan, EINVAL);
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    check_mount(c, mounts[i]);
    if (!c.ok()) return fail(Step::kPlan, EINVAL, static_cast<std::uint16_t>(i));
  }
  return PlanView(file);
}

const PlanHeader& PlanView::header() const {
  return *reinterpret_cast<const PlanHeader*>(file_.data());
}

const char* PlanView::text(Text t) const {
  return reinterpret_cast<const char*>(file_.data() + t.offset);
}

std::span<const PlanMount> PlanView::mounts() const {
  const Array a = header().mounts;
  return {reinterpret_cast<const PlanMount*>(file_.data() + a.offset), a.count};
}

std::span<const PlanRlimit> PlanView::rlimits() const {
  const Array a = header().rlimits;
  return {reinterpret_cast<const PlanRlimit*>(file_.data() + a.offset), a.count};
}

std::span<const sock_filter> PlanView::filter() const {
  const Array a = header().filter;
  return {reinterpret_cast<const sock_filter*>(file_.data() + a.offset), a.count};
}

std::span<const sock_filter> PlanView::init_filter() const {
  const Array a = header().init_filter;
  return {reinterpret_cast<const sock_filter*>(file_.data() + a.offset), a.count};
}

Result<CommandView> CommandView::read(std::span<std::byte> file) {
  if (!has_header<CommandHeader>(file, kCommandMagic)) return fail(Step::kPlan, EINVAL);
  const auto h = *reinterpret_cast<const CommandHeader*>(file.data());
  // The slots lie behind all that is checked, so that writing them changes nothing of it.
  if (h.argv.offset < sizeof(h) || h.argv.offset > file.size()) return fail(Step::kPlan, EINVAL);
  const std::size_t body = h.argv.offset;
  const std::uint64_t argv_end = body + (std::uint64_t{h.argv.count} + 1) * sizeof(std::uint64_t);
  Checker c(file.first(body));
  if (!c.is_root(h.cwd)) c.path(h.cwd);
  const auto inputs = c.array<CommandInput>(h.inputs, 200);
  for (const CommandInput& input : inputs) {
    c.path(input.path);
    c.require(input.mode <= 0777);
  }
  if (!c.ok() || h.env.offset < argv_end || !relocate(file, body, h.argv, 1) ||
      !relocate(file, body, h.env, 0))
    return fail(Step::kPlan, EINVAL);
  return CommandView(file);
}

const char* CommandView::cwd() const {
  return text(reinterpret_cast<const CommandHeader*>(file_.data())->cwd);
}

char* const* CommandView::argv() const {
  const Array a = reinterpret_cast<const CommandHeader*>(file_.data())->argv;
  return reinterpret_cast<char* const*>(file_.data() + a.offset);
}

char* const* CommandView::env() const {
  const Array a = reinterpret_cast<const CommandHeader*>(file_.data())->env;
  return reinterpret_cast<char* const*>(file_.data() + a.offset);
}

std::span<const CommandInput> CommandView::inputs() const {
  const Array a = reinterpret_cast<const CommandHeader*>(file_.data())->inputs;
  return {reinterpret_cast<const CommandInput*>(file_.data() + a.offset), a.count};
}

const char* CommandView::text(Text t) const {
  return reinterpret_cast<const char*>(file_.data() + t.offset);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Result<Mapping> Mapping::of(const Fd& file, Mode mode, std::size_t limit) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0) return fail(Step::kPlan, errno);
  // memfd_create(2): without these the sender could change what was checked, or make us SIGBUS.
  constexpr int kNeeded = F_SEAL_WRITE | F_SEAL_SHRINK;
  if ((seals & kNeeded) != kNeeded) return fail(Step::kPlan, EPERM);
  struct stat st {};
  if (::fstat(file.get(), &st) != 0) return fail(Step::kPlan, errno);
  const auto size = static_cast<std::size_t>(st.st_size);
  if (size == 0) return fail(Step::kPlan, EINVAL);
  if (size > limit) return fail(Step::kPlan, E2BIG);
  const int prot = mode == Mode::kPrivate ? PROT_READ | PROT_WRITE : PROT_READ;
  const int flags = mode == Mode::kPrivate ? MAP_PRIVATE : MAP_SHARED;
  void* data = ::mmap(nullptr, size, prot, flags, file.get(), 0);
  if (data == MAP_FAILED) return fail(Step::kPlan, errno);
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.size_ = size;
  return mapping;
}

}  // namespace jail
