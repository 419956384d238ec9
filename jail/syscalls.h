// Names and numbers of the x86-64 system calls, by libseccomp's table. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace jail {

// nullopt for a name libseccomp does not know on x86-64.
std::optional<int> syscall_number(std::string_view name);

// "openat"; "syscall 1023" for a number without a name.
std::string syscall_name(int number);

// Highest number that may have a name; every name's number is <= this.
inline constexpr int kLastSyscall = 600;

}  // namespace jail
