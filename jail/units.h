// Strong types for the quantities a jail is described in, so that bytes never pass for
// milliseconds or a uid for a slot. Header only; usable after fork; any thread.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace jail {

// A size in bytes. Range 0 .. 2^63-1 where the kernel takes it (rlimits, tmpfs size=, cgroups).
struct Bytes {
  std::uint64_t value = 0;
  auto operator<=>(const Bytes&) const = default;
};

constexpr Bytes kib(std::uint64_t n) { return Bytes{n << 10U}; }
constexpr Bytes mib(std::uint64_t n) { return Bytes{n << 20U}; }

// A user or group id as seen from the namespace named at the place of use.
struct Id {
  std::uint32_t value = 0;
  auto operator<=>(const Id&) const = default;
};

// All durations are whole milliseconds; CPU time likewise.
using Millis = std::chrono::milliseconds;

}  // namespace jail
