// Colours, only if stdout is a terminal and NO_COLOR is not set. Any thread.
#pragma once

#include <string>

namespace runner::cli {

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
