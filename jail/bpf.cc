#include "jail/bpf.h"

#include <linux/audit.h>

#include <cstddef>
#include <set>
#include <tuple>

#include "jail/syscalls.h"

namespace jail {
namespace {

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

// Does any path of `program` for this number give the answer that is looked for?
class Explorer {
 public:
  enum class Sought { kAllow, kAnythingElse };

  Explorer(std::span<const sock_filter> program, int number, Sought sought)
      : program_(program), number_(static_cast<std::uint32_t>(number)), sought_(sought) {}

  bool finds() { return follow(0, Word{}); }

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
          return is_sought((in.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ALLOW);
        case BPF_JMP:
          if (BPF_OP(in.code) == BPF_JA) {
            pc += 1U + in.k;
            break;
          }
          if (!a.known && follow(pc + 1U + in.jt, a)) return true;
          pc += 1U + (a.known && compare(BPF_OP(in.code), a.value, in.k) ? in.jt : in.jf);
          break;
        default:
          return true;  // an instruction we do not model: it may say anything
      }
    }
    return is_sought(false);
  }

  bool is_sought(bool allows) const { return allows == (sought_ == Sought::kAllow); }

  Word load(std::uint32_t offset) const {
    if (offset == offsetof(seccomp_data, nr)) return Word{true, number_};
    if (offset == offsetof(seccomp_data, arch)) return Word{true, AUDIT_ARCH_X86_64};
    return Word{false, 0};
  }

  std::span<const sock_filter> program_;
  std::uint32_t number_;
  Sought sought_;
  std::set<std::tuple<std::size_t, Word>> seen_;
};

}  // namespace

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

bool reaches(std::span<const sock_filter> program, int number) {
  return Explorer(program, number, Explorer::Sought::kAllow).finds();
}

bool always_allows(std::span<const sock_filter> program, int number) {
  return !Explorer(program, number, Explorer::Sought::kAnythingElse).finds();
}

std::vector<int> reachable_syscalls(std::span<const sock_filter> program) {
  std::vector<int> found;
  for (int number = 0; number <= kLastSyscall; ++number)
    if (reaches(program, number)) found.push_back(number);
  return found;
}

}  // namespace jail
