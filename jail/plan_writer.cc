// The writing half of plan.h: runs in the caller, may allocate.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "jail/bpf.h"
#include "jail/client.h"
#include "jail/plan.h"
#include "jail/syscalls.h"

namespace jail {
namespace {

// Appends objects to a buffer whose first bytes are kept for the header.
class Writer {
 public:
  explicit Writer(std::size_t header) : bytes_(header) {}

  Text text(std::string_view s) {
    const Text t{static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(s.size())};
    append(s.data(), s.size());
    bytes_.push_back(std::byte{0});
    return t;
  }

  template <class T>
  Array array(std::span<const T> items) {
    bytes_.resize((bytes_.size() + 15) / 16 * 16);
    const Array a{static_cast<std::uint32_t>(bytes_.size()),
                  static_cast<std::uint32_t>(items.size())};
    append(items.data(), items.size_bytes());
    return a;
  }

  // Offsets of the strings, and a zero after the last.
  std::vector<std::uint64_t> strings(const std::vector<std::string>& items) {
    std::vector<std::uint64_t> offsets;
    offsets.reserve(items.size() + 1);
    for (const std::string& s : items) offsets.push_back(text(s).offset);
    offsets.push_back(0);
    return offsets;
  }
  Array slots(const std::vector<std::uint64_t>& offsets) {
    Array a = array<std::uint64_t>(offsets);
    --a.count;
    return a;
  }

  template <class Header>
  Result<Fd> seal(Header header, std::size_t limit) {
    header.total = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &header, sizeof(header));
    if (bytes_.size() > limit) return fail(Step::kPlan, E2BIG);
    Fd file(::memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file.valid()) return fail(Step::kPlan, errno);
    const ssize_t n = ::write(file.get(), bytes_.data(), bytes_.size());
    if (n != static_cast<ssize_t>(bytes_.size())) return fail(Step::kPlan, n < 0 ? errno : EIO);
    constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return fail(Step::kPlan, errno);
    return file;
  }

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void append(const void* data, std::size_t n) {
    const auto* p = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), p, p + n);
  }
  std::vector<std::byte> bytes_;
};

// What PID 1 still needs once its payload runs: wait, pass signals on, report, end.
SyscallFilter init_filter() {
  SyscallFilter filter;
  filter.fallback = SyscallAction::kKill;
  constexpr const char* kNames[] = {
      "read",
      "write",
      "close",
      "ppoll",
      "poll",
      "wait4",
      "waitid",
      "kill",
      "sendmsg",
      "recvmsg",
      "exit_group",
      "rt_sigreturn",
      "restart_syscall",
      "rt_sigprocmask",
      "getrusage",
#ifdef __SANITIZE_ADDRESS__
      "mmap",
      "munmap",
      "madvise",
      "getpid",
      "futex",
      "sigaltstack",
      "rt_sigaction",
      "mprotect",
      "gettid",
#endif
  };
  for (const char* name : kNames)
    if (const auto number = syscall_number(name))
      filter.rules.push_back(SyscallRule{*number, SyscallAction::kAllow, 0, {}});
  return filter;
}

// The payload's last words before execve, and its way out, need these under any filter.
bool can_start(const BpfProgram& program) {
  return reaches(program, SYS_read) && reaches(program, SYS_write) &&
         reaches(program, SYS_exit_group);
}

bool returns_notify(const BpfProgram& program) {
  return std::any_of(program.begin(), program.end(), [](const sock_filter& in) {
    return BPF_CLASS(in.code) == BPF_RET && in.k == SECCOMP_RET_USER_NOTIF;
  });
}

// Where nothing allows execve it must reach the spawner, which lets the first one through: so
// whatever else was said about it becomes a report.
SyscallFilter with_first_exec(SyscallFilter filter) {
  const int number = *syscall_number("execve");
  const auto is_exec = [number](const SyscallRule& r) { return r.number == number; };
  const bool allowed = std::any_of(filter.rules.begin(), filter.rules.end(), [&](const auto& r) {
    return is_exec(r) && r.action == SyscallAction::kAllow;
  });
  if (allowed || filter.fallback == SyscallAction::kAllow) return filter;
  std::erase_if(filter.rules, is_exec);
  if (filter.fallback != SyscallAction::kNotify)
    filter.rules.push_back(SyscallRule{number, SyscallAction::kNotify, 0, {}});
  return filter;
}

PlanMount write_mount(Writer& w, const Mount& m) {
  PlanMount p{};
  p.kind = m.kind;
  p.access = m.access;
  p.exec = m.exec;
  p.presence = m.presence;
  p.mode = m.mode;
  p.size = m.size.value;
  p.inodes = m.inodes;
  p.source = w.text(m.source);
  p.target = w.text(m.target);
  p.contents = w.text(m.contents);
  return p;
}

void fill_scalars(PlanHeader& h, const Spec& spec) {
  h.magic = kPlanMagic;
  h.uid = spec.identity.uid.value;
  h.gid = spec.identity.gid.value;
  h.proc = spec.proc;
  h.loopback = spec.loopback;
  h.landlock_net = spec.landlock_net;
  h.start = spec.start;
  h.code_size = spec.code_size.value;
  h.memory = spec.totals.memory.value;
  h.processes = spec.totals.processes;
  h.cpu_time_ms = static_cast<std::uint64_t>(spec.totals.cpu_time.count());
}

}  // namespace

Result<Fd> make_plan(const Spec& spec) {
  if (spec.mounts.size() > kMaxMounts || spec.rlimits.size() > kMaxRlimits)
    return fail(Step::kPlan, E2BIG);
  const auto program = compile_filter(with_first_exec(spec.filter));
  if (!program) return tl::unexpected(program.error());
  const auto init_program = compile_filter(init_filter());
  if (!init_program) return tl::unexpected(init_program.error());

  PlanHeader h{};
  fill_scalars(h, spec);
  if (!can_start(*program)) return fail(Step::kPlan, EINVAL, 1);
  h.exec_once = reaches(*program, SYS_execve) ? 0 : 1;
  h.listens = returns_notify(*program) ? 1 : 0;
  Writer w(sizeof(PlanHeader));
  h.hostname = w.text(spec.hostname);
  h.workdir = w.text(spec.workdir);
  h.code_dir = w.text(spec.code_dir);
  std::vector<PlanMount> mounts;
  for (const Mount& m : spec.mounts) mounts.push_back(write_mount(w, m));
  h.mounts = w.array<PlanMount>(mounts);
  std::vector<PlanRlimit> rlimits;
  for (const Rlimit& l : spec.rlimits) rlimits.push_back({l.resource, 0, l.soft, l.hard});
  h.rlimits = w.array<PlanRlimit>(rlimits);
  h.filter = w.array<sock_filter>(*program);
  h.init_filter = w.array<sock_filter>(*init_program);

  auto file = w.seal(h, kMaxPlanBytes);
  if (!file) return file;
  // The reader's rules are the rules: a Spec that breaks one fails here, in the caller, at once.
  if (const auto view = PlanView::read(w.bytes()); !view) return tl::unexpected(view.error());
  return file;
}

Result<Fd> make_command(const Command& command) {
  if (command.argv.empty() || command.inputs.size() > kMaxInputs)
    return fail(Step::kPlan, command.argv.empty() ? EINVAL : E2BIG);
  for (const auto* list : {&command.argv, &command.env})
    for (const std::string& s : *list)
      if (s.find('\0') != std::string::npos) return fail(Step::kPlan, EINVAL);
  CommandHeader h{};
  h.magic = kCommandMagic;
  Writer w(sizeof(CommandHeader));
  h.cwd = w.text(command.cwd);
  const std::vector<std::uint64_t> argv = w.strings(command.argv);
  const std::vector<std::uint64_t> env = w.strings(command.env);
  std::vector<CommandInput> inputs;
  for (const Input& input : command.inputs) inputs.push_back({w.text(input.path), input.mode, 0});
  h.inputs = w.array<CommandInput>(inputs);
  h.argv = w.slots(argv);
  h.env = w.slots(env);
  auto file = w.seal(h, kMaxCommandBytes);
  if (!file) return file;
  std::vector<std::byte> copy(w.bytes().begin(), w.bytes().end());
  if (const auto view = CommandView::read(copy); !view) return tl::unexpected(view.error());
  return file;
}

}  // namespace jail
