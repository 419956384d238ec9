#include "runner/trace/markdown.h"

#include <algorithm>
#include <string_view>

#include "runner/text.h"

namespace runner::trace {
namespace {

// U+2400 and on, in UTF-8; U+2421 for DEL.
std::string picture_of(unsigned char c) {
  return std::string("\xe2\x90") + static_cast<char>(0x80U + (c == 0x7f ? 0x21U : c));
}

std::string without_controls(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    const bool is_c1 = c == 0xc2 && next < 0xa0;
    if (c == '\r' && next == '\n') continue;
    if (is_c1) {
      out += "\xef\xbf\xbd";  // U+FFFD: they have no pictures
      ++i;
    } else if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f) {
      out += picture_of(c);
    } else {
      out += text[i];
    }
  }
  return out;
}

bool is_language(const std::string& info) {
  return info.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-") == std::string::npos;
}

// GitHub's extension makes links of these without being asked.
void break_links(std::string& text) {
  for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"://", "\\://"},
                                 {"www.", "www\\."},
                                 {"WWW.", "WWW\\."}})
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
}

}  // namespace

std::string plain(const std::string& bytes) {
  std::string out;
  for (const char c : printable(bytes)) {
    if (std::string_view("\\`*_{}[]<>#|&$~@").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  break_links(out);
  return out;
}

// CommonMark 4.5: a fence ends at one as long as itself, so it is longer than any run inside.
std::string fenced(const std::string& info, const std::string& bytes) {
  const std::string text = without_controls(to_utf8(bytes));
  std::size_t longest = 2;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fence + (is_language(info) ? info : "") + "\n" + text +
         (text.empty() || text.back() == '\n' ? "" : "\n") + fence + "\n\n";
}

}  // namespace runner::trace
