// One line in, one line out.
#include <cstring>

#include "runner/arithmetic/arithmetic.h"
#include "runner/arithmetic/evaluator.h"
#include "runner/arithmetic/fast_path.h"
#include "runner/arithmetic/json_string.h"
#include "runner/arithmetic/text.h"

namespace runner::arithmetic {
namespace {

void append_error(std::string_view text, std::string& out) {
  out += "{\"error\": \"";
  append_json_escaped(text, out);
  out += "\"}\n";
}

// A plain expression as a JSON string needs no decoding: it holds no quote, no escape and no
// control character, or it would not be plain.
// Appends the verdict where it is known so.
bool append_plain(std::string_view line, std::string& out) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.size() < 2 || line.front() != '"' || line.back() != '"') return false;
  static constexpr std::string_view kBefore = "{\"value\": \"";
  static constexpr std::string_view kAfter = "\"}\n";
  // Written where it goes: reading a copy back at once would stall.
  const std::size_t begin = out.size();
  out.resize(begin + kBefore.size() + kPlainSize + kAfter.size());
  char* const value = out.data() + begin + kBefore.size();
  const PlainVerdict plain = evaluate_plain(line.substr(1, line.size() - 2), value);
  char* const end = plain.end;
  if (plain.kind != PlainVerdict::kValue) {
    out.resize(begin);
    if (plain.kind == PlainVerdict::kUnknown) return false;
    Verdict verdict;
    refuse_plain(plain.kind, verdict);
    append_json(verdict, out);
    out += '\n';
    return true;
  }
  std::memcpy(value - kBefore.size(), kBefore.data(), kBefore.size());
  std::memcpy(end, kAfter.data(), kAfter.size());
  out.resize(static_cast<std::size_t>(end - out.data()) + kAfter.size());
  return true;
}

}  // namespace

void batch_line(std::string_view line, const Options& options, std::string& out) {
  if (append_plain(line, out)) return;
  const std::size_t begin = skip_json_space(line, 0);
  if (begin == line.size() || line[begin] != '"') {
    append_error("the line is not a JSON string", out);
    return;
  }
  std::string storage;
  const JsonString string = read_json_string(line, begin, storage);
  if (!string.error.empty()) {
    append_error(string.error, out);
    return;
  }
  if (skip_json_space(line, string.end) != line.size()) {
    append_error("something follows the JSON string", out);
    return;
  }
  // Without escapes it is what has just been tried.
  append_json(
      storage.empty() ? evaluate_in_full(string.text, options) : evaluate(string.text, options),
      out);
  out += '\n';
}

}  // namespace runner::arithmetic
