#include "runner/replay/select.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

#include "jail/fd.h"
#include "runner/session/content.h"
#include "runner/text.h"
#include "runner/trace/folder.h"

namespace runner::replay {
namespace {

using trace::Record;

constexpr jail::Bytes kMostFile = jail::mib(4096);
constexpr std::size_t kMostMissing = 100;

struct Line {
  std::string text;
  std::uint64_t number = 0;  // from 1
};

bool is_id(const std::string& what) {
  const bool is_named =
      what.starts_with("exec_") || what.starts_with("eval_") || what.starts_with("cntr_");
  return is_named && what.find_first_not_of("0123456789abcdef", 5) == std::string::npos;
}

// Whole lines only: what stands behind the last newline of a trace is still being written. A file
// of one line that a person saved may lack it.
void each_line(const std::string& text, const std::function<void(const Line&)>& take) {
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    ++number;
    const std::string line = text.substr(at, end - at);
    if (!line.empty() && (end != std::string::npos || line.back() == '}')) take({line, number});
    if (end == std::string::npos) break;
    at = end + 1;
  }
}

Result<std::string> text_of_file(const std::string& path) {
  const auto content = path == "-" ? content_of_stream(STDIN_FILENO, "stdin", kMostFile)
                                   : content_of_file(path, kMostFile);
  if (!content) return tl::unexpected(content.error());
  return text_of(*content);
}

// The files of a server's trace, the oldest first.
Result<std::vector<std::string>> files_of(const std::string& folder) {
  const jail::Fd dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir.valid())
    return fail(ErrorKind::kFiles, "cannot open " + printable(folder) + ": " +
                                       jail::errno_name(errno) +
                                       "; --trace is the folder that serve was given");
  std::vector<std::string> files;
  for (const std::string& name : trace::names_in(dir))
    if (name.starts_with("trace-") && name.ends_with(".jsonl"))
      files.push_back(folder + "/" + name);
  std::sort(files.begin(), files.end());
  return files;
}

// Every line of all files that `wanted` wants.
Result<std::vector<Record>> gather(const std::vector<std::string>& files,
                                   const std::function<bool(const Line&)>& wanted) {
  std::vector<Record> records;
  std::optional<Error> wrong;
  for (const std::string& file : files) {
    const auto text = text_of_file(file);
    if (!text) return tl::unexpected(text.error());
    each_line(*text, [&](const Line& line) {
      if (wrong || !wanted(line)) return;
      auto record = trace::record_of(line.text);
      if (record)
        records.push_back(std::move(*record));
      else
        wrong = Error{
            ErrorKind::kUsage,
            printable(file) + ", line " + std::to_string(line.number) + ": " + record.error().text,
            {}};
    });
  }
  if (wrong) return tl::unexpected(*wrong);
  return records;
}

bool has_session(const Line& line, const std::string& session) {
  const auto head = trace::head_of(line.text);
  return head && head->session == session;
}

Result<std::vector<Record>> gather_session(const std::vector<std::string>& files,
                                           const Record& last) {
  if (last.session.empty()) return std::vector<Record>{last};
  auto records = gather(files, [&](const Line& line) { return has_session(line, last.session); });
  if (records) std::erase_if(*records, [&](const Record& one) { return one.seq > last.seq; });
  return records;
}

// What runs in a session of its own, or in none, whatever its line says.
bool is_alone(trace::Kind kind) {
  return kind == trace::Kind::kOnce || kind == trace::Kind::kEvaluate;
}

// A session's records by their numbers; one that stands in two files is one.
void in_order(Part& part) {
  auto& list = part.records;
  std::stable_sort(list.begin(), list.end(),
                   [](const Record& a, const Record& b) { return a.seq < b.seq; });
  list.erase(std::unique(list.begin(), list.end(),
                         [](const Record& a, const Record& b) {
                           return a.seq == b.seq && a.seq > 0 && to_line(a) == to_line(b);
                         }),
             list.end());
  std::uint64_t before = 0;
  for (const Record& record : list) {
    if (record.seq == before && before > 0)
      part.twice.push_back(before);
    else if (record.seq > before + 1 && part.missing.size() < kMostMissing)
      part.missing.push_back({before + 1, record.seq - 1});
    before = record.seq;
  }
}

std::vector<Part> parts_of(std::vector<Record> records) {
  std::vector<Part> parts;
  std::map<std::string, std::size_t> by_session;
  for (Record& record : records) {
    // Nothing to run.
    if (record.kind == trace::Kind::kGap || record.kind == trace::Kind::kCreate) continue;
    if (record.session.empty() || is_alone(record.kind)) {
      record.session.clear();
      parts.push_back({{std::move(record)}, {}, {}});
      continue;
    }
    const auto [at, is_new] = by_session.try_emplace(record.session, parts.size());
    if (is_new) parts.emplace_back();
    parts[at->second].records.push_back(std::move(record));
  }
  for (Part& part : parts)
    if (!part.records.front().session.empty()) in_order(part);
  return parts;
}

struct Target {
  std::string file;
  std::uint64_t line = 0;  // 0: all
};

// FILE:LINE, unless there is a file of that very name.
Target target_of(const std::string& what) {
  const std::size_t colon = what.rfind(':');
  if (what == "-" || colon == std::string::npos || ::access(what.c_str(), F_OK) == 0)
    return {what, 0};
  std::uint64_t line = 0;
  const char* end = what.data() + what.size();
  const auto [rest, error] = std::from_chars(what.data() + colon + 1, end, line);
  if (error != std::errc{} || rest != end || line == 0) return {what, 0};
  return {what.substr(0, colon), line};
}

Result<Selection> in_files(const std::vector<std::string>& files, const Asked& asked,
                           const std::function<bool(const Line&)>& is_it) {
  Selection selection;
  auto found = gather(files, is_it);
  if (!found) return tl::unexpected(found.error());
  if (found->empty())
    return fail(ErrorKind::kUsage, "there is no record " + printable(asked.what) +
                                       " there; it may have gone with an old file");
  if (asked.alone) {
    selection.parts.push_back({{std::move(found->back())}, {}, {}});
    return selection;
  }
  auto records = gather_session(files, found->back());
  if (!records) return tl::unexpected(records.error());
  selection.parts = parts_of(std::move(*records));
  return selection;
}

Result<Selection> in_folder(const Asked& asked) {
  if (asked.folder.empty())
    return fail(ErrorKind::kUsage,
                "replay: an id is looked for in a trace; give --trace DIR, as serve was given");
  const auto files = files_of(asked.folder);
  if (!files) return tl::unexpected(files.error());
  const bool whole = asked.what.starts_with("cntr_");
  return in_files(*files, asked, [&](const Line& line) {
    const auto head = trace::head_of(line.text);
    return head && (whole ? head->session : head->id) == asked.what;
  });
}

Result<Selection> in_file(const Asked& asked) {
  const Target target = target_of(asked.what);
  if (target.line > 0)
    return in_files({target.file}, asked,
                    [&](const Line& line) { return line.number == target.line; });
  auto records = gather({target.file}, [](const Line&) { return true; });
  if (!records) return tl::unexpected(records.error());
  if (records->empty()) return fail(ErrorKind::kUsage, printable(target.file) + " holds no record");
  Selection selection;
  selection.parts = parts_of(std::move(*records));
  if (asked.alone)
    for (Part& part : selection.parts) {
      part.records.erase(part.records.begin(), part.records.end() - 1);
      part.missing.clear();
      part.twice.clear();
    }
  return selection;
}

}  // namespace

Result<Selection> select(const Asked& asked) {
  auto selection = is_id(asked.what) ? in_folder(asked) : in_file(asked);
  if (!selection) return selection;
  const std::string file = target_of(asked.what).file;
  const std::size_t slash = file.rfind('/');
  if (!asked.folder.empty())
    selection->inputs = asked.folder + "/inputs";
  else if (file != "-" && !is_id(asked.what))
    selection->inputs = (slash == std::string::npos ? "." : file.substr(0, slash)) + "/inputs";
  return selection;
}

}  // namespace runner::replay
