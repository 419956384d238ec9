#include "runner/replay/compare.h"

#include <algorithm>
#include <map>
#include <set>

#include "runner/text.h"

namespace runner::replay {
namespace {

using trace::Traced;
using trace::TracedFile;

constexpr std::size_t kShown = 80;

std::string shown(std::string_view bytes) {
  if (bytes.size() <= kShown) return printable(bytes);
  return printable(without_partial_character(bytes.substr(0, kShown))) + "...";
}

std::string_view line_at(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

Difference in_text(const std::string& what, const Traced& a, const Traced& b) {
  const auto [end_a, end_b] =
      std::mismatch(a.text.begin(), a.text.end(), b.text.begin(), b.text.end());
  const auto at = static_cast<std::size_t>(end_a - a.text.begin());
  const bool seen = end_a != a.text.end() || end_b != b.text.end();
  if (!seen || (a.bytes > a.text.size() && end_a == a.text.end()) ||
      (b.bytes > b.text.size() && end_b == b.text.end()))
    return {what + ", behind its first " + std::to_string(at) + " bytes",
            std::to_string(a.bytes) + " bytes, sha256 " + a.sha256.substr(0, 12),
            std::to_string(b.bytes) + " bytes, sha256 " + b.sha256.substr(0, 12)};
  const auto line = 1 + std::count(a.text.begin(), end_a, '\n');
  return {what + ", line " + std::to_string(line), shown(line_at(a.text, at)),
          shown(line_at(b.text, at))};
}

// The text too: of a record that somebody edited it may not be what the hash is of.
bool same(const Traced& a, const Traced& b) {
  const std::size_t both = std::min(a.text.size(), b.text.size());
  return a.bytes == b.bytes && a.sha256 == b.sha256 &&
         a.text.compare(0, both, b.text, 0, both) == 0;
}

using Differences = std::vector<Difference>;

void compare_text(Differences& all, const std::string& what, const Traced& a, const Traced& b) {
  if (!same(a, b)) all.push_back(in_text(what, a, b));
}

void compare_word(Differences& all, const std::string& what, const std::string& a,
                  const std::string& b) {
  if (a != b) all.push_back({what, shown(a), shown(b)});
}

void compare_result(Differences& all, std::size_t number, const trace::TracedResult& a,
                    const trace::TracedResult& b) {
  std::set<std::string> types;
  for (const auto& one : a.data) types.insert(one.first);
  for (const auto& one : b.data) types.insert(one.first);
  for (const std::string& type : types) {
    const auto in_a = a.data.find(type);
    const auto in_b = b.data.find(type);
    const std::string what = "result " + std::to_string(number) + " as " + printable(type);
    if (in_a == a.data.end() || in_b == b.data.end()) {
      all.push_back({what, in_a == a.data.end() ? "none" : "there is one",
                     in_b == b.data.end() ? "none" : "there is one"});
    } else if (type.starts_with("text/") || in_a->second.sha256 == in_b->second.sha256) {
      compare_text(all, what, in_a->second, in_b->second);
    } else {
      all.push_back({what, "sha256 " + in_a->second.sha256.substr(0, 12),
                     "sha256 " + in_b->second.sha256.substr(0, 12)});
    }
  }
}

void compare_error(Differences& all, const std::optional<trace::TracedError>& a,
                   const std::optional<trace::TracedError>& b) {
  compare_word(all, "the error's name", a ? a->name : "none", b ? b->name : "none");
  if (a && b) compare_word(all, "the error's value", a->value, b->value);
}

std::string file_text(const std::map<std::string, TracedFile>& files, const std::string& path) {
  const auto found = files.find(path);
  if (found == files.end()) return "none";
  const TracedFile& file = found->second;
  return std::to_string(file.bytes) + " bytes" +
         (file.sha256.empty() ? "" : ", sha256 " + file.sha256.substr(0, 12));
}

// Folded by path; a file without a hash is compared by its size.
void compare_files(Differences& all, const std::vector<TracedFile>& a,
                   const std::vector<TracedFile>& b) {
  std::map<std::string, TracedFile> then;
  std::map<std::string, TracedFile> now;
  std::set<std::string> paths;
  for (const TracedFile& file : a) paths.insert((then[file.path] = file).path);
  for (const TracedFile& file : b) paths.insert((now[file.path] = file).path);
  for (const std::string& path : paths) {
    const auto in_a = then.find(path);
    const auto in_b = now.find(path);
    const bool both = in_a != then.end() && in_b != now.end();
    const bool hashed = both && !in_a->second.sha256.empty() && !in_b->second.sha256.empty();
    const bool equal = both && in_a->second.bytes == in_b->second.bytes &&
                       (!hashed || in_a->second.sha256 == in_b->second.sha256);
    if (!equal)
      all.push_back({"the file " + printable(path), file_text(then, path), file_text(now, path)});
  }
}

}  // namespace

Differences compare(const trace::Record& recorded, const trace::Record& now) {
  Differences all;
  compare_word(all, "the outcome", recorded.outcome, now.outcome);
  compare_word(all, "the exit code", std::to_string(recorded.exit_code),
               std::to_string(now.exit_code));
  compare_word(all, "whether variables were kept", recorded.state_preserved ? "yes" : "no",
               now.state_preserved ? "yes" : "no");
  compare_text(all, "stdout", recorded.out, now.out);
  compare_text(all, "stderr", recorded.err, now.err);
  for (std::size_t i = 0; i < std::min(recorded.results.size(), now.results.size()); ++i)
    compare_result(all, i + 1, recorded.results[i], now.results[i]);
  compare_word(all, "the number of results", std::to_string(recorded.results.size()),
               std::to_string(now.results.size()));
  compare_error(all, recorded.error, now.error);
  compare_files(all, recorded.outputs, now.outputs);
  return all;
}

std::string text_of(const Difference& difference) {
  return difference.what + ": \"" + difference.recorded + "\" was recorded, now it is \"" +
         difference.now + "\"";
}

}  // namespace runner::replay
