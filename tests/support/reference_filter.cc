#include "tests/support/reference_filter.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <type_traits>

#include "jail/fd.h"

namespace support {

using namespace jail;

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

}  // namespace

jail::Result<jail::BpfProgram> compile_by_libseccomp(const jail::SyscallFilter& filter) {
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

}  // namespace support
