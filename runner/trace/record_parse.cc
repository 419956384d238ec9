// A record read back from its line: the trace's own, or one that somebody edited. Strict about what
// is there, lenient about what is not: an older line lacks newer members.
#include <boost/json.hpp>
#include <cstring>
#include <ctime>

#include "runner/text.h"
#include "runner/trace/record.h"

namespace runner::trace {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kMostExitCode = 255;

// The first thing wrong is kept; what follows reads as empty.
class Reader {
 public:
  explicit Reader(const json::object& object) : object_(object) {}

  const json::value* find(std::string_view name) const {
    const json::value* value = object_.if_contains(name);
    return value != nullptr && !value->is_null() ? value : nullptr;
  }
  std::string bytes(std::string_view name) {
    const json::value* raw = find(std::string(name) + "_base64");
    if (raw == nullptr) return text(name);
    auto decoded = raw->is_string() ? bytes_from_base64(raw->get_string()) : std::nullopt;
    return decoded ? *decoded : (wrong(name), "");
  }
  std::string text(std::string_view name) {
    const json::value* value = find(name);
    if (value == nullptr) return "";
    if (value->is_string()) return std::string(value->get_string());
    wrong(name);
    return "";
  }
  std::uint64_t number(std::string_view name) {
    const json::value* value = find(name);
    if (value == nullptr) return 0;
    if (value->is_int64() && value->get_int64() >= 0)
      return static_cast<std::uint64_t>(value->get_int64());
    if (value->is_uint64()) return value->get_uint64();
    wrong(name);
    return 0;
  }
  bool flag(std::string_view name) {
    const json::value* value = find(name);
    if (value != nullptr && !value->is_bool()) wrong(name);
    return value != nullptr && value->is_bool() && value->get_bool();
  }
  const json::object& object(std::string_view name) {
    static const json::object kEmpty;
    const json::value* value = find(name);
    if (value != nullptr && !value->is_object()) wrong(name);
    return value != nullptr && value->is_object() ? value->get_object() : kEmpty;
  }
  const json::array& array(std::string_view name) {
    static const json::array kEmpty;
    const json::value* value = find(name);
    if (value != nullptr && !value->is_array()) wrong(name);
    return value != nullptr && value->is_array() ? value->get_array() : kEmpty;
  }
  void wrong(std::string_view name) {
    if (wrong_.empty()) wrong_ = name;
  }
  void adopt(const Reader& other) {
    if (!other.wrong_.empty()) wrong(other.wrong_);
  }
  [[nodiscard]] const std::string& what_is_wrong() const { return wrong_; }

 private:
  const json::object& object_;
  std::string wrong_;
};

// Each object of an array, in turn.
template <class Each>
void each(Reader& reader, std::string_view name, const Each& take) {
  for (const json::value& value : reader.array(name)) {
    if (!value.is_object()) {
      reader.wrong(name);
      return;
    }
    Reader inner(value.get_object());
    take(inner);
    reader.adopt(inner);
  }
}

std::vector<TracedFile> files_of(Reader& reader, std::string_view name) {
  std::vector<TracedFile> files;
  each(reader, name, [&](Reader& one) {
    files.push_back({one.bytes("path"), one.text("sha256"), one.number("bytes")});
  });
  return files;
}

Traced traced_of(Reader& reader, const json::object& object) {
  Reader inner(object);
  Traced traced{inner.bytes("text"), inner.number("bytes"), inner.text("sha256")};
  reader.adopt(inner);
  return traced;
}

std::vector<TracedResult> results_of(Reader& reader) {
  std::vector<TracedResult> results;
  each(reader, "results", [&](Reader& one) {
    TracedResult result;
    result.is_main = one.flag("is_main_result");
    for (const auto& [mime, value] : one.object("data")) {
      if (!value.is_object()) {
        one.wrong("data");
        continue;
      }
      result.data[std::string(mime)] = traced_of(one, value.get_object());
    }
    results.push_back(std::move(result));
  });
  return results;
}

std::vector<DeniedEntry> denied_of(Reader& reader) {
  std::vector<DeniedEntry> denied;
  each(reader, "denied", [&](Reader& one) {
    denied.push_back({one.text("syscall"), one.bytes("args"), one.number("count"), one.text("rule"),
                      one.text("allow_with")});
  });
  return denied;
}

std::optional<std::int64_t> time_of(const std::string& text) {
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || *rest != '.' || std::strlen(rest) != 8 || rest[7] != 'Z')
    return std::nullopt;
  std::int64_t fraction = 0;
  for (int i = 1; i <= 6; ++i) {
    if (rest[i] < '0' || rest[i] > '9') return std::nullopt;
    fraction = fraction * 10 + (rest[i] - '0');
  }
  return static_cast<std::int64_t>(::timegm(&parts)) * 1'000'000 + fraction;
}

template <class T>
T one_of(Reader& reader, const char* name, const char* (*word)(T), T last) {
  const std::string text = reader.text(name);
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (text == word(static_cast<T>(i))) return static_cast<T>(i);
  reader.wrong(name);
  return last;
}

void read_answer(Reader& reader, Record& record) {
  record.ran = reader.flag("ran");
  record.number = reader.number("number");
  record.out = traced_of(reader, reader.object("stdout"));
  record.err = traced_of(reader, reader.object("stderr"));
  Reader truncated(reader.object("truncated"));
  record.out_truncated = truncated.flag("stdout");
  record.err_truncated = truncated.flag("stderr");
  reader.adopt(truncated);
  record.results = results_of(reader);
  record.results_dropped = reader.number("results_dropped");
  if (reader.find("error") != nullptr) {
    Reader error(reader.object("error"));
    record.error = TracedError{error.bytes("name"), error.bytes("value"), error.bytes("traceback")};
    reader.adopt(error);
  }
  const std::uint64_t code = reader.number("exit_code");
  if (code > kMostExitCode) reader.wrong("exit_code");
  record.exit_code = static_cast<int>(code);
  record.state_preserved = reader.flag("state_preserved");
  record.outputs = files_of(reader, "outputs");
  Reader usage(reader.object("usage"));
  record.usage.wall = jail::Millis(usage.number("wall_ms"));
  record.usage.cpu = jail::Millis(usage.number("cpu_ms"));
  if (usage.find("peak_memory_bytes") != nullptr) {
    record.usage.peak_memory = {usage.number("peak_memory_bytes")};
    record.usage.peak_memory_from = jail::Enforcer::kRlimit;  // whose figure it is, is not kept
  }
  reader.adopt(usage);
  record.denied = denied_of(reader);
}

Record read(Reader& reader) {
  Record record;
  record.id = reader.text("id");
  if (const auto time = time_of(reader.text("time")))
    record.time_us = *time;
  else
    reader.wrong("time");
  record.session = reader.text("session");
  record.owner = reader.text("owner");
  record.seq = reader.number("seq");
  record.kind = one_of(reader, "kind", kind_text, Kind::kGap);
  record.ending = one_of(reader, "ending", ending_text, Ending::kStopped);
  record.outcome = reader.text("outcome");
  record.text = reader.bytes("text");
  record.title = reader.text("title");
  record.language = reader.text("language");
  record.code = reader.bytes("code");
  record.code_sha256 = reader.text("code_sha256");
  Reader policy(reader.object("policy"));
  record.policy = {policy.text("name"), policy.text("sha256"), policy.number("memory_bytes")};
  reader.adopt(policy);
  if (reader.find("input") != nullptr) record.input = reader.bytes("input");
  if (reader.find("timeout_ms") != nullptr) record.timeout_ms = reader.number("timeout_ms");
  record.inputs = files_of(reader, "inputs");
  record.lost = reader.number("lost");
  record.unsynced = reader.number("unsynced");
  if (reader.find("ran") != nullptr) read_answer(reader, record);
  return record;
}

}  // namespace

Result<Record> record_of(std::string_view line) {
  json::parse_options options;
  options.max_depth = 16;
  json::error_code error;
  const json::value value = json::parse(line, error, {}, options);
  if (error || !value.is_object())
    return fail(ErrorKind::kUsage, "this is no line of a trace: " +
                                       (error ? error.message() : "it is not a JSON object"));
  Reader reader(value.get_object());
  Record record = read(reader);
  if (record.id.empty() && record.kind != Kind::kGap) reader.wrong("id");
  if (!reader.what_is_wrong().empty())
    return fail(ErrorKind::kUsage, "this is no line of a trace: \"" + reader.what_is_wrong() +
                                       "\" is missing or makes no sense");
  return record;
}

}  // namespace runner::trace
