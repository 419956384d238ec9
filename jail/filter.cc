// Rules to a seccomp program. libseccomp could do it, and the tests compile every shipped policy
// with both and compare the answers; but its program for `standard` takes 1.8 ms to make and has
// 420 instructions, while a start has milliseconds in all and the kernel's compiler works by the
// instruction. Here a run of numbers with one answer is one leaf, and a leaf is found by halving.
#include <linux/audit.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>

#include "jail/bpf.h"

namespace jail {
namespace {

constexpr std::uint32_t kX32Bit = 0x40000000;  // asm/unistd.h: __X32_SYSCALL_BIT
constexpr std::size_t kFar = 255;              // a conditional jump's reach

sock_filter statement(unsigned code, std::uint32_t k) {
  return {static_cast<std::uint16_t>(code), 0, 0, k};
}

sock_filter jump(unsigned op, std::uint32_t k, std::size_t when_true, std::size_t when_false) {
  return {static_cast<std::uint16_t>(BPF_JMP | op | BPF_K), static_cast<std::uint8_t>(when_true),
          static_cast<std::uint8_t>(when_false), k};
}

std::uint32_t answer_of(SyscallAction action, std::uint16_t error) {
  switch (action) {
    case SyscallAction::kAllow:
      return SECCOMP_RET_ALLOW;
    case SyscallAction::kErrno:
      return SECCOMP_RET_ERRNO | error;
    case SyscallAction::kNotify:
      return SECCOMP_RET_USER_NOTIF;
    case SyscallAction::kKill:
      break;
  }
  return SECCOMP_RET_KILL_PROCESS;
}

// Straight-line code with two ways out: falling off the end (the test held), or a jump to a label
// at a distance known only when the code behind it is.
class Chain {
 public:
  void load(std::size_t offset) {
    code_.push_back(statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  }
  void mask(std::uint32_t k) {
    if (k != ~0U) code_.push_back(statement(BPF_ALU | BPF_AND | BPF_K, k));
  }
  // Go on if (a OP k) holds, else fail; or the other way round.
  void need(unsigned op, std::uint32_t k) { branch(op, k, 0, kFailed); }
  void refuse(unsigned op, std::uint32_t k) { branch(op, k, kFailed, 0); }
  // Skip the next n instructions if (a OP k) holds (or does not).
  void skip_if(unsigned op, std::uint32_t k, std::uint8_t n) { branch(op, k, n, 0); }
  void skip_unless(unsigned op, std::uint32_t k, std::uint8_t n) { branch(op, k, 0, n); }

  // The finished code: `success` at the end, failures jump behind it.
  BpfProgram finish(std::uint32_t success) {
    code_.push_back(statement(BPF_RET | BPF_K, success));
    for (std::size_t i = 0; i < code_.size(); ++i) {
      const auto behind = static_cast<std::uint8_t>(code_.size() - i - 1);
      if (code_[i].jt == kFailed) code_[i].jt = behind;
      if (code_[i].jf == kFailed) code_[i].jf = behind;
    }
    return code_;
  }

 private:
  static constexpr std::uint8_t kFailed = 255;
  void branch(unsigned op, std::uint32_t k, std::uint8_t t, std::uint8_t f) {
    code_.push_back(jump(op, k, t, f));
  }
  BpfProgram code_;
};

std::uint32_t high(std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32U); }
std::uint32_t low(std::uint64_t v) { return static_cast<std::uint32_t>(v); }

// Arguments are 64 bits wide, the machine 32: the high half decides unless it is equal.
void add_test(Chain& chain, const ArgTest& t) {
  const std::size_t at = offsetof(seccomp_data, args) + std::size_t{8} * t.arg;
  if (t.op == CompareOp::kEqual) {
    if (high(t.mask) != 0 || high(t.value) != 0) {
      chain.load(at + 4);
      chain.mask(high(t.mask));
      chain.need(BPF_JEQ, high(t.value));
    }
    chain.load(at);
    chain.mask(low(t.mask));
    chain.need(BPF_JEQ, low(t.value));
    return;
  }
  chain.load(at + 4);
  switch (t.op) {
    case CompareOp::kNotEqual:
      chain.skip_unless(BPF_JEQ, high(t.value), 2);
      chain.load(at);
      chain.refuse(BPF_JEQ, low(t.value));
      return;
    case CompareOp::kLess:
    case CompareOp::kLessEqual:
      chain.refuse(BPF_JGT, high(t.value));
      chain.skip_unless(BPF_JEQ, high(t.value), 2);
      chain.load(at);
      chain.refuse(t.op == CompareOp::kLess ? BPF_JGE : BPF_JGT, low(t.value));
      return;
    default:
      chain.skip_if(BPF_JGT, high(t.value), 3);
      chain.need(BPF_JEQ, high(t.value));
      chain.load(at);
      chain.need(t.op == CompareOp::kGreater ? BPF_JGT : BPF_JGE, low(t.value));
      return;
  }
}

// What happens to one number: code for its tests, ending in a return.
BpfProgram leaf_of(const std::vector<const SyscallRule*>& rules, std::uint32_t fallback) {
  BpfProgram leaf;
  std::uint32_t otherwise = fallback;
  for (const SyscallRule* rule : rules) {
    const std::uint32_t answer = answer_of(rule->action, rule->error);
    if (rule->tests.empty()) {
      otherwise = answer;
      continue;
    }
    Chain chain;
    for (const ArgTest& t : rule->tests) add_test(chain, t);
    const BpfProgram code = chain.finish(answer);
    leaf.insert(leaf.end(), code.begin(), code.end());
    // A failed test has changed the accumulator; the next one loads its own.
  }
  leaf.push_back(statement(BPF_RET | BPF_K, otherwise));
  return leaf;
}

struct Run {
  std::uint32_t first;
  BpfProgram leaf;
};

bool same_code(const BpfProgram& a, const BpfProgram& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const sock_filter& x, const sock_filter& y) {
                      return x.code == y.code && x.jt == y.jt && x.jf == y.jf && x.k == y.k;
                    });
}

void add_run(std::vector<Run>& runs, std::uint32_t first, BpfProgram leaf) {
  if (runs.empty() || !same_code(runs.back().leaf, leaf)) runs.push_back({first, std::move(leaf)});
}

std::vector<Run> runs_of(const SyscallFilter& filter, std::uint32_t fallback) {
  std::map<std::uint32_t, std::vector<const SyscallRule*>> by_number;
  for (const SyscallRule& rule : filter.rules)
    by_number[static_cast<std::uint32_t>(rule.number)].push_back(&rule);
  const BpfProgram nothing = leaf_of({}, fallback);
  std::vector<Run> runs;
  std::uint32_t next = 0;
  for (const auto& [number, rules] : by_number) {
    if (number > next) add_run(runs, next, nothing);
    add_run(runs, number, leaf_of(rules, fallback));
    next = number + 1;
  }
  add_run(runs, next, nothing);
  return runs;
}

// The accumulator holds the number. Left half, then right half, with a jump over the left.
BpfProgram search(std::span<const Run> runs) {
  if (runs.size() == 1) return runs[0].leaf;
  const std::size_t half = runs.size() / 2;
  const BpfProgram left = search(runs.first(half));
  const BpfProgram right = search(runs.subspan(half));
  BpfProgram code;
  if (left.size() <= kFar) {
    code.push_back(jump(BPF_JGE, runs[half].first, left.size(), 0));
  } else {
    code.push_back(jump(BPF_JGE, runs[half].first, 0, 1));
    code.push_back(statement(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(left.size())));
  }
  code.insert(code.end(), left.begin(), left.end());
  code.insert(code.end(), right.begin(), right.end());
  return code;
}

bool is_sound(const SyscallRule& rule) {
  if (rule.number < 0 || static_cast<std::uint32_t>(rule.number) >= kX32Bit) return false;
  // 8 instructions a test at the most: a rule's jumps must reach its end.
  if (rule.tests.size() > 16) return false;
  return std::all_of(rule.tests.begin(), rule.tests.end(), [](const ArgTest& t) {
    return t.arg <= 5 && (t.op == CompareOp::kEqual || t.mask == ~0ULL);
  });
}

}  // namespace

Result<BpfProgram> compile_filter(const SyscallFilter& filter) {
  for (const SyscallRule& rule : filter.rules)
    if (!is_sound(rule)) return fail(Step::kPlan, EINVAL, static_cast<std::uint16_t>(rule.number));
  const std::uint32_t fallback = answer_of(filter.fallback, filter.fallback_error);
  // seccomp(2): the numbers of another architecture mean other calls; never interpret them. -1 is
  // what a tracer sets to skip a call; it is no x32 call.
  BpfProgram program{
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      jump(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
      statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      jump(BPF_JGE, kX32Bit, 0, 3),
      jump(BPF_JEQ, ~0U, 1, 0),
      statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      statement(BPF_RET | BPF_K, fallback),
  };
  const BpfProgram tree = search(runs_of(filter, fallback));
  program.insert(program.end(), tree.begin(), tree.end());
  if (program.size() > BPF_MAXINSNS) return fail(Step::kPlan, E2BIG);
  return program;
}

}  // namespace jail
