// Sizes, durations and counts as people write them: "512M", "20m", "64". The policy files and the
// command line read them by the same functions. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jail/units.h"
#include "policies/error.h"

namespace policies {

// A whole number and K, M, G or T, powers of 1024; "MiB" and "MB" mean the same as "M"; "B" is one
// byte. 1 byte .. 1 PiB. The error has no place in it.
Result<jail::Bytes> parse_size(std::string_view text);

// A whole number and ms, s, m, h or d. 1 ms .. 366 days.
Result<jail::Millis> parse_duration(std::string_view text);

// A plain whole number, 1 .. 10^9.
Result<std::uint64_t> parse_count(std::string_view text);

// The shortest exact form: "512M", "1500K", "90s". They parse back to the same value.
std::string print_size(jail::Bytes size);
std::string print_duration(jail::Millis duration);

}  // namespace policies
