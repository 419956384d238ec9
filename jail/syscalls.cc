#include "jail/syscalls.h"

#include <seccomp.h>

#include <cstdlib>
#include <memory>

namespace jail {

std::optional<int> syscall_number(std::string_view name) {
  const std::string text(name);
  const int number = ::seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, text.c_str());
  // Negative numbers are libseccomp's pseudo-numbers for calls this architecture lacks.
  if (number < 0) return std::nullopt;
  return number;
}

std::string syscall_name(int number) {
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  const std::unique_ptr<char, Free> name(
      ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, number));
  if (name) return name.get();
  return "syscall " + std::to_string(number);
}

}  // namespace jail
