#include "policies/syscalls.h"

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "jail/syscalls.h"
#include "policies/argtest.h"
#include "policies/file.h"
#include "policies/nearest.h"
#include "policies/toml_reader.h"

namespace policies {
namespace {

constexpr std::string_view kSetPrefix = "sets.";

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> all;
  for (std::string w; in >> w;) all.push_back(w);
  return all;
}

int number_of(const TomlReader& r, const toml::key& key, std::string_view path) {
  const auto number = jail::syscall_number(key.str());
  if (!number)
    r.refuse(key.source(), path,
             "is not a system call that libseccomp knows on x86-64; check the spelling, or leave "
             "it out");
  return *number;
}

void read_tests(const TomlReader& r, const toml::table& t, const std::string& path,
                SyscallEntry& entry) {
  const toml::node* args = t.get("args");
  const toml::node* when = t.get("when");
  if (args == nullptr && when == nullptr) return;
  if (args == nullptr || when == nullptr)
    r.refuse(t.source(), path, "args and when go together: the arguments' names and the tests");
  const auto names = words(r.string(*args, path + ".args"));
  if (names.empty() || names.size() > 6)
    r.refuse(args->source(), path + ".args", "a call has one to six arguments");
  entry.when = r.strings(*when, path + ".when");
  const toml::array& lines = *when->as_array();
  if (lines.empty()) r.refuse(when->source(), path + ".when", "is empty; leave out args and when");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto tests = parse_tests(entry.when[i], names);
    if (!tests) r.refuse(lines[i].source(), path + ".when", tests.error().text);
    entry.alternatives.push_back(std::move(*tests));
  }
}

// "why", or a table with why, args and when and the `extra` key.
SyscallEntry read_entry(const TomlReader& r, const toml::key& key, const toml::node& node,
                        const std::string& path, std::string_view extra) {
  SyscallEntry entry;
  entry.name = key.str();
  entry.number = number_of(r, key, path);
  if (node.is_string()) {
    entry.why = r.string(node, path);
    return entry;
  }
  const toml::table& t = r.table(node, path);
  if (extra.empty())
    r.only(t, path, {"why", "args", "when"});
  else
    r.only(t, path, {"why", "args", "when", extra});
  const toml::node* why = t.get("why");
  if (why == nullptr) r.refuse(t.source(), path, "why is missing: each call says what it is for");
  entry.why = r.string(*why, path + ".why");
  read_tests(r, t, path, entry);
  return entry;
}

// Most lines are  name = "why"  in plain ASCII. Taking them out before toml++ sees the rest halves
// the time of a launch's look-up. What remains keeps its line; the caller makes sure that no
// multi-line string can hold such a line.
std::string take_plain_lines(std::string_view text, std::vector<SyscallEntry>& entries) {
  std::string rest;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t name_end =
        std::min(line.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), line.size());
    const std::string_view name = line.substr(0, name_end);
    std::string_view why = line.substr(name_end);
    const bool shaped = !name.empty() && why.size() > 5 && why.starts_with(" = \"") &&
                        why.back() == '"' && name != "why" && name != "weakens";
    if (shaped) why = why.substr(4, why.size() - 5);
    const bool plain = shaped && std::all_of(why.begin(), why.end(), [](char c) {
                         return c >= ' ' && c <= '~' && c != '"' && c != '\\';
                       });
    // A name that is wrong or stands twice is for toml++ and read_entry to complain about.
    const auto number = plain ? jail::syscall_number(name) : std::nullopt;
    const bool twice = std::any_of(entries.begin(), entries.end(),
                                   [&](const SyscallEntry& e) { return e.name == name; });
    if (number && !twice)
      entries.push_back({std::string(name), *number, std::string(why), {}, {}});
    else
      rest += line;
    rest += '\n';
  }
  return rest;
}

void read_set(const TomlReader& r, const toml::table& t, SyscallSet& set) {
  for (const auto& [key, node] : t) {
    const std::string path = std::string(kSetPrefix) + set.name + '.' + std::string(key.str());
    for (const SyscallEntry& e : set.entries)
      if (e.name == key.str()) r.refuse(key.source(), path, "stands twice; join the two");
    if (key.str() == "why")
      set.why = r.string(node, path);
    else if (key.str() == "weakens")
      set.weakens = r.string(node, path);
    else
      set.entries.push_back(read_entry(r, key, node, path, {}));
  }
  if (set.why.empty()) r.refuse(t.source(), "sets." + set.name, "why is missing");
}

std::uint16_t read_error(const TomlReader& r, const toml::node* node, const toml::table& t,
                         const std::string& path) {
  if (node == nullptr) r.refuse(t.source(), path, "error is missing, e.g. \"ENOSYS\"");
  const std::string text = r.string(*node, path + ".error");
  if (text == "0") return 0;
  if (text == "ENOSYS") return ENOSYS;
  if (text == "EPERM") return EPERM;
  if (text == "EINVAL") return EINVAL;
  if (text == "EOPNOTSUPP") return EOPNOTSUPP;
  if (text == "ENOTTY") return ENOTTY;
  r.refuse(node->source(), path + ".error",
           "must be \"ENOSYS\", \"EPERM\", \"EINVAL\", "
           "\"EOPNOTSUPP\", \"ENOTTY\" or \"0\"");
}

std::unique_ptr<std::vector<QuietEntry>> read_quiet(const TomlReader& r, const toml::table& t) {
  auto all = std::make_unique<std::vector<QuietEntry>>();
  for (const auto& [key, node] : t) {
    const std::string path = "quiet." + std::string(key.str());
    const toml::table& line = r.table(node, path);
    const std::uint16_t error = read_error(r, line.get("error"), line, path);
    all->push_back({read_entry(r, key, node, path, "error"), error});
  }
  return all;
}

std::unique_ptr<std::vector<NeverEntry>> read_never(const TomlReader& r, const toml::table& t) {
  auto all = std::make_unique<std::vector<NeverEntry>>();
  for (const auto& [key, node] : t) {
    const std::string path = "never." + std::string(key.str());
    all->push_back({std::string(key.str()), number_of(r, key, path), r.string(node, path)});
  }
  return all;
}

// "[sets.base]" -> "sets.base"; empty for any other line.
std::string_view header_name(std::string_view line) {
  if (!line.starts_with('[')) return {};
  const std::size_t end = line.find(']');
  if (end == std::string_view::npos) return {};
  const std::string_view name = line.substr(1, end - 1);
  const std::string_view rest = line.substr(end + 1);
  if (rest.find_first_not_of(" \t\r") != std::string_view::npos) return {};
  return name;
}

bool known_section(std::string_view name) {
  if (name == "quiet" || name == "never") return true;
  if (!name.starts_with(kSetPrefix) || name.size() == kSetPrefix.size()) return false;
  return name.substr(kSetPrefix.size())
             .find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

}  // namespace

Result<SyscallTable> SyscallTable::read(std::string text, std::string file) {
  SyscallTable table;
  table.file_ = std::move(file);
  table.text_ = std::make_unique<const std::string>(std::move(text));
  table.parsed_ = std::make_unique<Parsed>();
  const std::string_view all = *table.text_;
  try {
    check_shape(all, table.file_);
    std::uint32_t line = 0;
    for (std::size_t at = 0; at < all.size(); ++line) {
      const std::size_t end = std::min(all.find('\n', at), all.size() - 1) + 1;
      const std::string_view text_line = all.substr(at, end - at);
      const std::string_view name =
          header_name(text_line.substr(0, text_line.find_last_not_of('\n') + 1));
      if (!name.empty()) {
        const std::string place = table.file_ + ':' + std::to_string(line + 1) + ":1: ";
        if (!known_section(name))
          return fail(place + "[" + printable(name) +
                      "]: sections are [sets.NAME], [quiet], [never]");
        if (table.section(name) != nullptr)
          return fail(place + "[" + printable(name) + "] stands twice; join the two");
        table.sections_.push_back({std::string(name), all.substr(at, 0), line});
      }
      if (!table.sections_.empty()) {
        Section& s = table.sections_.back();
        s.text = {s.text.data(), s.text.size() + text_line.size()};
      } else if (text_line.find_first_not_of(" \t\r\n") != std::string_view::npos &&
                 text_line[text_line.find_first_not_of(" \t")] != '#') {
        return fail(table.file_ + ':' + std::to_string(line + 1) +
                    ":1: something stands before the first section, e.g. [sets.base]");
      }
      at = end;
    }
  } catch (Error& e) {
    return tl::unexpected<Error>(std::move(e));
  }
  if (table.sections_.empty()) return fail(table.file_ + ":1:1: no sections; expected [sets.NAME]");
  return table;
}

Result<SyscallTable> SyscallTable::open(const std::string& path) {
  auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  return read(std::move(*text), path);
}

const SyscallTable::Section* SyscallTable::section(std::string_view name) const {
  for (const Section& s : sections_)
    if (s.name == name) return &s;
  return nullptr;
}

std::vector<std::string> SyscallTable::set_names() const {
  std::vector<std::string> names;
  for (const Section& s : sections_)
    if (s.name.starts_with(kSetPrefix)) names.push_back(s.name.substr(kSetPrefix.size()));
  return names;
}

Result<const SyscallSet*> SyscallTable::set(std::string_view name) const {
  const Section* s = section(std::string(kSetPrefix) + std::string(name));
  if (s == nullptr) return nullptr;
  const std::lock_guard lock(parsed_->mutex);
  if (const auto found = parsed_->sets.find(name); found != parsed_->sets.end())
    return &found->second;
  try {
    SyscallSet set;
    set.name = name;
    const bool simple = s->text.find("\"\"\"") == std::string_view::npos &&
                        s->text.find("'''") == std::string_view::npos;
    const std::string rest = simple ? take_plain_lines(s->text, set.entries) : std::string(s->text);
    const TomlReader r(rest, file_, s->line_offset);
    read_set(r, *r.root().at_path(s->name).as_table(), set);
    return &parsed_->sets.emplace(std::string(name), std::move(set)).first->second;
  } catch (Error& e) {
    return tl::unexpected<Error>(std::move(e));
  }
}

Result<const std::vector<QuietEntry>*> SyscallTable::quiet() const {
  const std::lock_guard lock(parsed_->mutex);
  if (parsed_->quiet) return parsed_->quiet.get();
  const Section* s = section("quiet");
  if (s == nullptr) return fail(file_ + ":1:1: the section [quiet] is missing");
  try {
    const TomlReader r(s->text, file_, s->line_offset);
    parsed_->quiet = read_quiet(r, *r.root().at_path("quiet").as_table());
    return parsed_->quiet.get();
  } catch (Error& e) {
    return tl::unexpected<Error>(std::move(e));
  }
}

Result<const std::vector<NeverEntry>*> SyscallTable::never() const {
  const std::lock_guard lock(parsed_->mutex);
  if (parsed_->never) return parsed_->never.get();
  const Section* s = section("never");
  if (s == nullptr) return fail(file_ + ":1:1: the section [never] is missing");
  try {
    const TomlReader r(s->text, file_, s->line_offset);
    parsed_->never = read_never(r, *r.root().at_path("never").as_table());
    return parsed_->never.get();
  } catch (Error& e) {
    return tl::unexpected<Error>(std::move(e));
  }
}

Result<std::vector<const SyscallSet*>> SyscallTable::sets_with(int number) const {
  std::vector<const SyscallSet*> found;
  for (const std::string& name : set_names()) {
    auto s = set(name);
    if (!s) return tl::unexpected(s.error());
    for (const SyscallEntry& e : (*s)->entries)
      if (e.number == number) {
        found.push_back(*s);
        break;
      }
  }
  return found;
}

Result<std::vector<const SyscallSet*>> SyscallTable::sets_with(std::string_view name) const {
  const auto number = jail::syscall_number(name);
  if (!number) return std::vector<const SyscallSet*>{};
  return sets_with(*number);
}

Result<void> SyscallTable::check() const {
  const auto never_list = never();
  if (!never_list) return tl::unexpected(never_list.error());
  if (const auto q = quiet(); !q) return tl::unexpected(q.error());
  for (const NeverEntry& n : **never_list) {
    const auto sets = sets_with(n.number);
    if (!sets) return tl::unexpected(sets.error());
    if (!sets->empty())
      return fail(file_ + ": sets." + sets->front()->name + '.' + n.name +
                  ": is on the never list (" + n.why + "); remove one of the two");
  }
  return {};
}

}  // namespace policies
