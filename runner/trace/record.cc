#include "runner/trace/record.h"

#include <array>
#include <chrono>

#include "runner/text.h"
#include "runner/trace/digest.h"
#include "runner/trace/json_line.h"

namespace runner::trace {
namespace {

void put_file(JsonLine& line, const TracedFile& file) {
  line.open(nullptr, '{');
  line.bytes("path", file.path);
  if (file.sha256.empty())
    line.literal("sha256", "null");
  else
    line.text("sha256", file.sha256);
  line.number("bytes", file.bytes);
  line.close('}');
}

void put_files(JsonLine& line, const char* name, const std::vector<TracedFile>& files) {
  line.open(name, '[');
  for (const TracedFile& file : files) put_file(line, file);
  line.close(']');
}

void put_traced(JsonLine& line, const std::string& name, const Traced& traced) {
  line.open(name.c_str(), '{');
  line.bytes("text", traced.text);
  line.number("bytes", traced.bytes);
  line.text("sha256", traced.sha256);
  line.close('}');
}

void put_stream(JsonLine& line, const char* name, const Traced& traced) {
  if (traced.bytes == 0) return line.literal(name, "null");
  put_traced(line, name, traced);
}

void put_results(JsonLine& line, const Record& record) {
  line.open("results", '[');
  for (const TracedResult& result : record.results) {
    line.open(nullptr, '{');
    line.literal("is_main_result", truth(result.is_main));
    line.open("data", '{');
    for (const auto& [mime, traced] : result.data) put_traced(line, to_utf8(mime), traced);
    line.close('}');
    line.close('}');
  }
  line.close(']');
  if (record.results_dropped > 0) line.number("results_dropped", record.results_dropped);
}

void put_error(JsonLine& line, const std::optional<TracedError>& error) {
  if (!error) return line.literal("error", "null");
  line.open("error", '{');
  line.bytes("name", error->name);
  line.bytes("value", error->value);
  line.bytes("traceback", error->traceback);
  line.close('}');
}

void put_usage(JsonLine& line, const Usage& usage) {
  line.open("usage", '{');
  line.number("wall_ms", static_cast<std::uint64_t>(usage.wall.count()));
  line.number("cpu_ms", static_cast<std::uint64_t>(usage.cpu.count()));
  if (usage.peak_memory_from == jail::Enforcer::kNone)
    line.literal("peak_memory_bytes", "null");
  else
    line.number("peak_memory_bytes", usage.peak_memory.value);
  line.close('}');
}

void put_denied(JsonLine& line, const std::vector<DeniedEntry>& denied) {
  line.open("denied", '[');
  for (const DeniedEntry& entry : denied) {
    line.open(nullptr, '{');
    line.text("syscall", entry.syscall);
    line.bytes("args", entry.args);
    line.number("count", entry.count);
    line.text("rule", entry.rule);
    line.text("allow_with", entry.allow_with);
    line.close('}');
  }
  line.close(']');
}

void put_code(JsonLine& line, const Record& record) {
  line.bytes("code", record.code);
  line.text("code_sha256", sha256(record.code));
  if (record.input)
    line.bytes("input", *record.input);
  else
    line.literal("input", "null");
  if (record.timeout_ms)
    line.number("timeout_ms", *record.timeout_ms);
  else
    line.literal("timeout_ms", "null");
}

void put_question(JsonLine& line, const Record& record) {
  line.text("title", record.title);
  line.text("language", record.language);
  line.open("policy", '{');
  line.text("name", record.policy.name);
  line.text("sha256", record.policy.sha256);
  line.number("memory_bytes", record.policy.memory_bytes);
  line.close('}');
  put_files(line, "inputs", record.inputs);
}

void put_answer(JsonLine& line, const Record& record) {
  line.literal("ran", truth(record.ran));
  line.number("number", record.number);
  put_stream(line, "stdout", record.out);
  put_stream(line, "stderr", record.err);
  line.open("truncated", '{');
  line.literal("stdout", truth(record.out_truncated));
  line.literal("stderr", truth(record.err_truncated));
  line.close('}');
  put_results(line, record);
  put_error(line, record.error);
  line.integer("exit_code", record.exit_code);
  line.literal("state_preserved", truth(record.state_preserved));
  put_files(line, "outputs", record.outputs);
  put_usage(line, record.usage);
  put_denied(line, record.denied);
}

// What stands between `before` and the next quotation mark; none of it is escaped.
std::optional<std::string_view> quoted_after(std::string_view& rest, std::string_view before) {
  if (!rest.starts_with(before)) return std::nullopt;
  rest.remove_prefix(before.size());
  const std::size_t end = rest.find('"');
  if (end > 128) return std::nullopt;  // npos too
  const std::string_view found = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return found;
}

}  // namespace

const char* kind_text(Kind kind) noexcept {
  static constexpr std::array<const char*, 7> kWords = {"execute", "once",   "evaluate", "upload",
                                                        "remove",  "create", "gap"};
  return kWords.at(static_cast<std::size_t>(kind));
}

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// By hand: strftime(3) would be a seventh of what a record costs.
std::string time_text(std::int64_t microseconds) {
  namespace chrono = std::chrono;
  const chrono::sys_time<chrono::microseconds> time{chrono::microseconds(microseconds)};
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss clock{time - day};
  std::string text = "0000-00-00T00:00:00.000000Z";
  const auto put = [&text](std::size_t end, std::int64_t value) {
    for (; value > 0; value /= 10) text[--end] = static_cast<char>('0' + value % 10);
  };
  put(4, static_cast<int>(date.year()));
  put(7, static_cast<unsigned>(date.month()));
  put(10, static_cast<unsigned>(date.day()));
  put(13, clock.hours().count());
  put(16, clock.minutes().count());
  put(19, clock.seconds().count());
  put(26, clock.subseconds().count());
  return text;
}

std::string to_line(const Record& record) {
  JsonLine line;
  line.open(nullptr, '{');
  line.text("id", record.id);
  line.text("time", time_text(record.time_us));
  line.text("session", record.session);
  line.text("owner", record.owner);
  line.number("seq", record.seq);
  line.text("kind", kind_text(record.kind));
  line.text("decided_by", record.ending == Ending::kDecline ? "model" : "code");
  line.text("ending", ending_text(record.ending));
  line.text("outcome", record.outcome);
  line.bytes("text", record.text);
  if (record.kind == Kind::kGap) {
    line.number("lost", record.lost);
    line.number("unsynced", record.unsynced);
  } else {
    put_question(line, record);
  }
  if (runs_code(record.kind)) {
    put_code(line, record);
    put_answer(line, record);
  }
  line.close('}');
  return std::move(line).take();
}

std::optional<Head> head_of(std::string_view line) {
  Head head;
  const auto id = quoted_after(line, R"({"id":")");
  if (!id || !quoted_after(line, R"(,"time":")")) return std::nullopt;
  const auto session = quoted_after(line, R"(,"session":")");
  if (!session) return std::nullopt;
  const auto owner = quoted_after(line, R"(,"owner":")");
  if (!owner || !line.starts_with(R"(,"seq":)")) return std::nullopt;
  line.remove_prefix(7);
  for (; !line.empty() && line.front() >= '0' && line.front() <= '9'; line.remove_prefix(1))
    head.seq = head.seq * 10 + static_cast<std::uint64_t>(line.front() - '0');
  if (!line.starts_with(',') || !line.ends_with('}')) return std::nullopt;
  head.id = *id;
  head.session = *session;
  head.owner = *owner;
  return head;
}

}  // namespace runner::trace
