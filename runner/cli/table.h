// A plain table for the terminal: columns as wide as their widest cell, the last one open-ended.
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace runner::cli {

using Row = std::vector<std::string>;

// Two spaces between columns, `indent` before each row, a newline after each.
std::string table(const std::vector<Row>& rows, std::size_t indent = 0);

// Colours, only if stdout is a terminal and NO_COLOR is not set.
class Paint {
 public:
  Paint();
  [[nodiscard]] std::string good(const std::string& text) const { return paint("32", text); }
  [[nodiscard]] std::string bad(const std::string& text) const { return paint("31", text); }
  [[nodiscard]] std::string dim(const std::string& text) const { return paint("2", text); }
  [[nodiscard]] std::string bold(const std::string& text) const { return paint("1", text); }

 private:
  [[nodiscard]] std::string paint(const char* code, const std::string& text) const;
  bool on_ = false;
};

}  // namespace runner::cli
