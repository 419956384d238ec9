#include "runner/cli/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace runner::cli {

std::string table(const std::vector<Row>& rows, std::size_t indent) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += std::string(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text += std::string(widths[i] - row[i].size() + 2, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

Paint::Paint() : on_(::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr) {}

std::string Paint::paint(const char* code, const std::string& text) const {
  return on_ ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
}

}  // namespace runner::cli
