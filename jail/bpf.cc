#include "jail/bpf.h"

#include <linux/audit.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <set>
#include <tuple>
#include <type_traits>

#include "jail/fd.h"
#include "jail/syscalls.h"

namespace jail {
namespace {

struct Release {
  void operator()(void* ctx) const { ::seccomp_release(ctx); }
};
using Context = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, Release>;

std::uint32_t to_scmp(SyscallAction action, std::uint16_t error) {
  switch (action) {
    case SyscallAction::kAllow:
      return SCMP_ACT_ALLOW;
    case SyscallAction::kErrno:
      return SCMP_ACT_ERRNO(error);
    case SyscallAction::kNotify:
      return SCMP_ACT_NOTIFY;
    case SyscallAction::kKill:
      break;
  }
  return SCMP_ACT_KILL_PROCESS;
}

scmp_compare to_scmp(CompareOp op) {
  switch (op) {
    case CompareOp::kEqual:
      return SCMP_CMP_MASKED_EQ;
    case CompareOp::kNotEqual:
      return SCMP_CMP_NE;
    case CompareOp::kLess:
      return SCMP_CMP_LT;
    case CompareOp::kLessEqual:
      return SCMP_CMP_LE;
    case CompareOp::kGreater:
      return SCMP_CMP_GT;
    case CompareOp::kGreaterEqual:
      break;
  }
  return SCMP_CMP_GE;
}

int add_rule(scmp_filter_ctx ctx, const SyscallRule& rule) {
  std::vector<scmp_arg_cmp> tests;
  for (const ArgTest& t : rule.tests) {
    if (t.arg > 5 || (t.op != CompareOp::kEqual && t.mask != ~0ULL)) return -EINVAL;
    scmp_arg_cmp c{};
    c.arg = t.arg;
    c.op = t.op == CompareOp::kEqual && t.mask == ~0ULL ? SCMP_CMP_EQ : to_scmp(t.op);
    c.datum_a = c.op == SCMP_CMP_MASKED_EQ ? t.mask : t.value;
    c.datum_b = c.op == SCMP_CMP_MASKED_EQ ? t.value : 0;
    tests.push_back(c);
  }
  return ::seccomp_rule_add_array(ctx, to_scmp(rule.action, rule.error), rule.number,
                                  static_cast<unsigned>(tests.size()), tests.data());
}

Result<BpfProgram> export_program(scmp_filter_ctx ctx) {
  const Fd file(::memfd_create("filter", MFD_CLOEXEC));
  if (!file.valid()) return fail(Step::kPlan, errno);
  if (const int rc = ::seccomp_export_bpf(ctx, file.get()); rc < 0) return fail(Step::kPlan, -rc);
  struct stat st {};
  if (::fstat(file.get(), &st) != 0) return fail(Step::kPlan, errno);
  BpfProgram program(static_cast<std::size_t>(st.st_size) / sizeof(sock_filter));
  const std::size_t bytes = program.size() * sizeof(sock_filter);
  if (::pread(file.get(), program.data(), bytes, 0) != static_cast<ssize_t>(bytes))
    return fail(Step::kPlan, EIO);
  if (program.size() > BPF_MAXINSNS) return fail(Step::kPlan, E2BIG);
  return program;
}

// The accumulator while a program is followed: a value, or "depends on the arguments".
struct Word {
  bool known = true;
  std::uint32_t value = 0;
  auto operator<=>(const Word&) const = default;
};

bool compare(std::uint16_t op, std::uint32_t a, std::uint32_t k) {
  switch (op) {
    case BPF_JEQ:
      return a == k;
    case BPF_JGT:
      return a > k;
    case BPF_JGE:
      return a >= k;
    default:
      return (a & k) != 0;  // BPF_JSET
  }
}

std::uint32_t alu(std::uint16_t op, std::uint32_t a, std::uint32_t k) {
  switch (op) {
    case BPF_AND:
      return a & k;
    case BPF_OR:
      return a | k;
    case BPF_ADD:
      return a + k;
    case BPF_SUB:
      return a - k;
    case BPF_RSH:
      return k > 31 ? 0 : a >> k;
    case BPF_LSH:
      return k > 31 ? 0 : a << k;
    default:
      return 0;
  }
}

// Does any path of `program` for this number return ALLOW?
class Explorer {
 public:
  Explorer(std::span<const sock_filter> program, int number)
      : program_(program), number_(static_cast<std::uint32_t>(number)) {}

  bool allows() { return follow(0, Word{}); }

 private:
  bool follow(std::size_t pc, Word a) {
    while (pc < program_.size()) {
      if (!seen_.insert({pc, a}).second) return false;
      const sock_filter& in = program_[pc];
      switch (BPF_CLASS(in.code)) {
        case BPF_LD:
          a = load(in.k);
          ++pc;
          break;
        case BPF_ALU:
          if (a.known) a.value = alu(BPF_OP(in.code), a.value, in.k);
          ++pc;
          break;
        case BPF_RET:
          return (in.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ALLOW;
        case BPF_JMP:
          if (BPF_OP(in.code) == BPF_JA) {
            pc += 1U + in.k;
            break;
          }
          if (!a.known && follow(pc + 1U + in.jt, a)) return true;
          pc += 1U + (a.known && compare(BPF_OP(in.code), a.value, in.k) ? in.jt : in.jf);
          break;
        default:
          return true;  // an instruction we do not model: say "reachable" rather than hide it
      }
    }
    return false;
  }

  Word load(std::uint32_t offset) const {
    if (offset == offsetof(seccomp_data, nr)) return Word{true, number_};
    if (offset == offsetof(seccomp_data, arch)) return Word{true, AUDIT_ARCH_X86_64};
    return Word{false, 0};
  }

  std::span<const sock_filter> program_;
  std::uint32_t number_;
  std::set<std::tuple<std::size_t, Word>> seen_;
};

}  // namespace

Result<BpfProgram> compile_filter(const SyscallFilter& filter) {
  const std::uint32_t fallback = to_scmp(filter.fallback, filter.fallback_error);
  const Context ctx(::seccomp_init(fallback));
  if (!ctx) return fail(Step::kPlan, ENOMEM);
  // seccomp(2): the numbers of another architecture mean other calls; never interpret them.
  int rc = ::seccomp_attr_set(ctx.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  // 2 = binary tree over the numbers: loads in half the time of a linear list.
  if (rc == 0) rc = ::seccomp_attr_set(ctx.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (rc != 0) return fail(Step::kPlan, -rc);
  for (const SyscallRule& rule : filter.rules) {
    if (to_scmp(rule.action, rule.error) == fallback) continue;
    rc = add_rule(ctx.get(), rule);
    // EEXIST: the same rule twice, from two sets that share a call.
    if (rc != 0 && rc != -EEXIST)
      return fail(Step::kPlan, -rc, static_cast<std::uint16_t>(rule.number));
  }
  return export_program(ctx.get());
}

std::uint32_t run_filter(std::span<const sock_filter> program, const seccomp_data& call) {
  const auto* words = reinterpret_cast<const std::byte*>(&call);
  std::uint32_t a = 0;
  for (std::size_t pc = 0; pc < program.size(); ++pc) {
    const sock_filter& in = program[pc];
    switch (BPF_CLASS(in.code)) {
      case BPF_LD:
        if (in.k % 4 != 0 || in.k > sizeof(call) - 4) return SECCOMP_RET_KILL_PROCESS;
        a = *reinterpret_cast<const std::uint32_t*>(words + in.k);
        break;
      case BPF_ALU:
        a = alu(BPF_OP(in.code), a, in.k);
        break;
      case BPF_RET:
        return in.k;
      case BPF_JMP:
        if (BPF_OP(in.code) == BPF_JA)
          pc += in.k;
        else
          pc += compare(BPF_OP(in.code), a, in.k) ? in.jt : in.jf;
        break;
      default:
        return SECCOMP_RET_KILL_PROCESS;
    }
  }
  return SECCOMP_RET_KILL_PROCESS;
}

std::vector<int> reachable_syscalls(std::span<const sock_filter> program) {
  std::vector<int> found;
  for (int number = 0; number <= kLastSyscall; ++number)
    if (Explorer(program, number).allows()) found.push_back(number);
  return found;
}

}  // namespace jail
