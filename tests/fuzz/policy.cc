// Reading, merging and validating a policy from any bytes: an error or a policy, never a crash. The
// first byte chooses between a policy and a table of system calls.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "policies/explain.h"
#include "policies/parse.h"
#include "policies/syscalls.h"
#include "policies/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  static const auto table = policies::SyscallTable::read(
      "[sets.base]\nwhy = \"x\"\nread = \"x\"\nexit_group = \"x\"\n[sets.signals]\nwhy = \"x\"\n"
      "rt_sigreturn = \"x\"\nrestart_syscall = \"x\"\n[quiet]\n[never]\nbpf = \"x\"\n",
      "syscalls.toml");
  if (data[0] % 2 == 0) {
    if (const auto own = policies::SyscallTable::read(std::string(text), "s.toml"))
      (void)own->check();
    return 0;
  }
  const auto document = policies::Document::read(text, "p.toml");
  if (!document) return 0;
  policies::Policy policy;
  policies::Places places;
  if (!document->apply(policy, places)) return 0;
  if (!policies::validate(policy, *table, places)) return 0;
  (void)policies::explain(policy, *table, 1);
  (void)policies::explain_path(policy, text);
  policies::Policy again;
  const auto shown = policies::Document::read(policies::show(policy), "again.toml");
  if (!shown || !shown->apply(again, places)) __builtin_trap();
  return 0;
}
