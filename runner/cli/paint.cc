#include "runner/cli/paint.h"

#include <unistd.h>

#include <cstdlib>

namespace runner::cli {

Paint::Paint() : on_(::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr) {}

std::string Paint::paint(const char* code, const std::string& text) const {
  return on_ ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
}

}  // namespace runner::cli
