// Small files of /proc and cgroupfs: whole reads and one-shot writes. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace jail {

// Up to 64 KiB; nullopt when it can't be opened or read.
std::optional<std::string> read_file(int folder, const char* name);

// 0, or the errno of open(2) or write(2).
int write_file(int folder, const char* name, std::string_view text);

// "oom_kill 3\n..." -> 3 for key "oom_kill".
std::optional<std::uint64_t> keyed_number(std::string_view text, std::string_view key);

// First decimal number in `text`.
std::optional<std::uint64_t> first_number(std::string_view text);

}  // namespace jail
