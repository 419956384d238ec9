// The catalogue's parts, one a category or two; catalogue() puts them together.
#pragma once

#include <span>

#include "runner/reach/probe.h"

namespace runner::reach {

inline constexpr Verdict kB = Verdict::kBlocked;
inline constexpr Verdict kR = Verdict::kReached;

// What is expected under tight, standard, loose.
inline constexpr Expected kNever{kB, kB, kB};
inline constexpr Expected kOnlyLoose{kB, kB, kR};
inline constexpr Expected kNotTight{kB, kR, kR};
inline constexpr Expected kAlways{kR, kR, kR};

std::span<const Probe> file_catalogue();
std::span<const Probe> execution_catalogue();
std::span<const Probe> process_catalogue();
std::span<const Probe> kernel_catalogue();
std::span<const Probe> kernel_more_catalogue();
std::span<const Probe> network_catalogue();
std::span<const Probe> resource_catalogue();
std::span<const Probe> information_catalogue();
std::span<const Probe> protocol_catalogue();
std::span<const Probe> python_catalogue();
std::span<const Probe> door_catalogue();

}  // namespace runner::reach
