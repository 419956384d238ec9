// The commands of the program: one function each, in a file of its own. Each gets what stands
// after its name and returns the exit code: the payload's own, 124 time limit, 125 Sandglass
// itself failed, 126 and 127 not runnable and not found, 128+N signal, 137 memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace runner::cli {

// The words after the command's name. Everything after the first "--" belongs to the program.
struct Words {
  std::vector<std::string> ours;
  std::optional<std::vector<std::string>> program;
  [[nodiscard]] bool ask_for_help() const;
};

Words split_words(const std::vector<std::string>& words);

int run_command(const Words& words);
int exec_command(const Words& words);
int eval_command(const Words& words);
int policy_command(const Words& words);
int doctor_command(const Words& words);
int probe_command(const Words& words);
int compare_command(const Words& words);
int demo_command(const Words& words);
int serve_command(const Words& words);
int replay_command(const Words& words);
int mcp_command(const Words& words);

inline constexpr int kFailed = 125;
// Of the restricted mode, beside 0 for a value.
inline constexpr int kDeclined = 3;
inline constexpr int kRefused = 4;
// Of replay, beside 0 for the same and kRefused where nothing was run.
inline constexpr int kDifferent = 1;

}  // namespace runner::cli
