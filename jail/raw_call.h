// A system call that leaves errno alone: for a process that shares its memory, and so its errno,
// with another one that runs at the same time. x86-64. Returns the result or -errno.
#pragma once

#include <cstdint>

namespace jail {

#if !defined(__x86_64__)
#error "raw_call is written for x86-64"
#endif

inline std::int64_t word(std::int64_t value) { return value; }
inline std::int64_t word(const volatile void* p) { return reinterpret_cast<std::int64_t>(p); }

template <class A = int, class B = int, class C = int>
std::int64_t raw_call(std::int64_t number, A a = {}, B b = {}, C c = {}) {
  std::int64_t result = number;
  // syscall(2): arguments in rdi, rsi, rdx; rcx and r11 are lost.
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(word(a)), "S"(word(b)), "d"(word(c))
                   : "rcx", "r11", "memory");
  return result;
}

}  // namespace jail
