#include "policies/toml_reader.h"

#include <algorithm>

#include "policies/nearest.h"

namespace policies {
namespace {

// Follows the text far enough to know what is inside a string or a comment. toml++ parses and frees
// nested values by recursion; dotted keys nest as well ("a.a.a.a = 1"), and it has no limit there.
class Shape {
 public:
  Shape(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  void check() {
    while (at_ < text_.size()) step();
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return skip_string(c);
    if (c == '#') return skip_comment();
    if (c == '\n') next_line();
    if (c == '[' || c == '{') open();
    if (c == ']' || c == '}') --depth_;
    if (c == '.' && ++dots_ > kMaxTomlDots) refuse("a key with more than 8 dots");
    if (c == '=' || c == ',' || c == '\n' || c == '[' || c == '{') dots_ = 0;
    ++at_;
  }

  void open() {
    // A stray "]" makes the depth negative; toml++ will stop there.
    if (++depth_ > kMaxTomlBrackets) refuse("more than 16 brackets within each other");
  }

  void next_line() {
    ++line_;
    line_start_ = at_ + 1;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool multi = text_.substr(at_).starts_with(three);
    at_ += multi ? 3U : 1U;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (multi && text_.substr(at_).starts_with(three)) {
        at_ += 3;
        // Up to two more quotes belong to the string: """a""""" ends in a"".
        while (at_ < text_.size() && text_[at_] == quote) ++at_;
        return;
      }
      if (!multi && (c == quote || c == '\n')) {
        if (c == quote) ++at_;
        return;
      }
      if (c == '\n') next_line();
      const bool escape = c == '\\' && quote == '"' && at_ + 1 < text_.size();
      at_ += escape && text_[at_ + 1] != '\n' ? 2U : 1U;
    }
  }

  [[noreturn]] void refuse(std::string_view what) const {
    throw Error{file_ + ':' + std::to_string(line_) + ':' + std::to_string(at_ - line_start_ + 1) +
                ": " + std::string(what) + "; nothing here needs such nesting"};
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
  int depth_ = 0;
  int dots_ = 0;
};

std::string type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a fraction";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

toml::table parse(std::string_view text, const std::string& file, std::uint32_t line_offset) {
  try {
    return toml::parse(text, std::string_view(file));
  } catch (const toml::parse_error& e) {
    const auto& at = e.source().begin;
    const std::string what(e.description());
    const bool twice = what.find("redefine") != std::string::npos;
    throw Error{file + ':' + std::to_string(at.line + line_offset) + ':' +
                std::to_string(at.column) + ": " + printable(what) +
                (twice ? "; a key may stand only once, remove one of the two"
                       : "; the file must be valid TOML 1.0 in UTF-8")};
  }
}

}  // namespace

void check_shape(std::string_view text, const std::string& file) {
  if (text.size() > kMaxTomlBytes)
    throw Error{file + ":1:1: the file has " + std::to_string(text.size()) +
                " bytes; the most is 1 MiB"};
  Shape(text, file).check();
}

TomlReader::TomlReader(std::string_view text, std::string file, std::uint32_t line_offset)
    : file_(std::move(file)), line_offset_(line_offset) {
  root_ = parse(text, file_, line_offset_);
}

std::string TomlReader::place(const toml::source_region& region) const {
  return file_ + ':' + std::to_string(region.begin.line + line_offset_) + ':' +
         std::to_string(region.begin.column);
}

void TomlReader::refuse(const toml::source_region& region, std::string_view path,
                        std::string_view what) const {
  throw Error{place(region) + ": " + printable(path) + ": " + std::string(what)};
}

void TomlReader::only(const toml::table& table, std::string_view path,
                      std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    const std::vector<std::string> words(known.begin(), known.end());
    std::string hint = did_you_mean(key.str(), words);
    if (hint.empty()) hint = "; known here: " + join(words);
    const std::string full = (path.empty() ? "" : std::string(path) + '.') + std::string(key.str());
    refuse(key.source(), full, "unknown key" + hint);
  }
}

const toml::table& TomlReader::table(const toml::node& node, std::string_view path) const {
  if (const toml::table* t = node.as_table()) return *t;
  refuse(node.source(), path, "is " + type_name(node) + "; it must be a table");
}

std::string TomlReader::string(const toml::node& node, std::string_view path) const {
  const auto* s = node.as_string();
  if (s == nullptr)
    refuse(node.source(), path, "is " + type_name(node) + "; it must be a string in quotes");
  const std::string& text = s->get();
  if (text.empty()) refuse(node.source(), path, "is empty");
  if (text.size() > 4096) refuse(node.source(), path, "is longer than 4096 bytes");
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      refuse(node.source(), path, "contains a control character");
  return text;
}

std::int64_t TomlReader::integer(const toml::node& node, std::string_view path) const {
  if (const auto* n = node.as_integer()) return n->get();
  refuse(node.source(), path, "is " + type_name(node) + "; it must be a whole number");
}

bool TomlReader::boolean(const toml::node& node, std::string_view path) const {
  if (const auto* b = node.as_boolean()) return b->get();
  refuse(node.source(), path, "is " + type_name(node) + "; it must be true or false");
}

const toml::array& TomlReader::array(const toml::node& node, std::string_view path) const {
  const toml::array* a = node.as_array();
  if (a == nullptr)
    refuse(node.source(), path, "is " + type_name(node) + "; it must be a list, e.g. [\"a\"]");
  if (a->size() > 1024) refuse(node.source(), path, "has more than 1024 entries");
  return *a;
}

std::vector<std::string> TomlReader::strings(const toml::node& node, std::string_view path) const {
  std::vector<std::string> all;
  for (const toml::node& n : array(node, path))
    all.push_back(string(n, std::string(path) + '[' + std::to_string(all.size()) + ']'));
  return all;
}

}  // namespace policies
