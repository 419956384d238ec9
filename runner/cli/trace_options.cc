#include "runner/cli/trace_options.h"

#include "policies/quantity.h"
#include "runner/cli/print.h"
#include "runner/text.h"

namespace runner::cli {
namespace {

Error wrong(const std::string& what) { return Error{ErrorKind::kUsage, what, {}}; }

template <class T>
std::optional<Error> read_quantity(const char* name, const std::optional<std::string>& text,
                                   policies::Result<T> (*parse)(std::string_view), T& into) {
  if (!text) return std::nullopt;
  const auto value = parse(*text);
  if (!value) return wrong(std::string(name) + ": " + value.error().text);
  into = *value;
  return std::nullopt;
}

std::optional<Error> read_words(const TraceOptions& options, trace::Options& into) {
  const std::string sync = options.sync.value_or("second");
  if (sync == "none")
    into.sync = trace::Sync::kNone;
  else if (sync == "second")
    into.sync = trace::Sync::kSecond;
  else if (sync == "always")
    into.sync = trace::Sync::kAlways;
  else
    return wrong("--trace-sync " + printable(sync) + ": give none, second or always");
  const std::string full = options.when_full.value_or("go-on");
  if (full == "go-on")
    into.when_full = trace::WhenFull::kGoOn;
  else if (full == "stop")
    into.when_full = trace::WhenFull::kStop;
  else
    return wrong("--trace-full " + printable(full) + ": give go-on or stop");
  return std::nullopt;
}

}  // namespace

void TraceOptions::add_to(Parser& parser) {
  parser.text("--trace", where,
              without == Without::kOff
                  ? "a folder (0700) for a line about each execution and for inputs; else none"
                  : "a folder (0700) for a line about each execution and for inputs; off: none; "
                    "else it is kept in memory (16M) while the server lives",
              "DIR");
  parser.text("--trace-sync", sync,
              "a record is on disk before its reply (always), within a second (second), or when "
              "the kernel likes (none); it outlives a killed server in any case (second)",
              "WHEN");
  parser.text(
      "--trace-full", when_full,
      "when a record cannot be written: go-on without, counted and logged, or stop: nothing "
      "new begins (go-on)",
      "WHAT");
  parser.text("--trace-file-size", file_size, "when the next file begins (64M)", "SIZE");
  parser.text("--trace-files", files, "how many are kept, 2 or more (8)", "N");
  parser.text("--inputs-size", inputs_size, "of all files kept for replay (1G)", "SIZE");
  parser.text("--inputs-time", inputs_time, "how long they are kept (30d)", "TIME");
}

Result<trace::Options> TraceOptions::read() const {
  auto options = read_all();
  if (!options) options.error().text.insert(0, command + ": ");
  return options;
}

Result<trace::Options> TraceOptions::read_all() const {
  trace::Options options;
  options.files.say = [](const std::string& text) { note(text); };
  const bool in_files = where && is_on();
  if (where && where->empty()) return tl::unexpected(wrong("--trace: no folder"));
  const bool any = sync || when_full || file_size || files || inputs_size || inputs_time;
  if (any && !in_files)
    return tl::unexpected(wrong("--trace-* and --inputs-* are for a trace in files: --trace DIR"));
  if (!in_files) {
    options.files.max_file = trace::kMemoryFile;
    options.files.files = trace::kMemoryFiles;
    return options;
  }
  options.files.folder = *where;
  std::uint64_t count = options.files.files;
  jail::Millis time = options.inputs_time;
  if (auto error = read_words(*this, options)) return tl::unexpected(*error);
  for (const auto& error :
       {read_quantity("--trace-file-size", file_size, policies::parse_size, options.files.max_file),
        read_quantity("--trace-files", files, policies::parse_count, count),
        read_quantity("--inputs-size", inputs_size, policies::parse_size, options.inputs_size),
        read_quantity("--inputs-time", inputs_time, policies::parse_duration, time)})
    if (error) return tl::unexpected(*error);
  if (count < 2) return tl::unexpected(wrong("--trace-files: 2 or more"));
  options.files.files = count;
  options.inputs_time = std::chrono::duration_cast<std::chrono::hours>(time);
  if (options.inputs_time.count() < 1) return tl::unexpected(wrong("--inputs-time: 1h or more"));
  return options;
}

std::string TraceOptions::describe() const {
  if (!is_on()) return std::string("no trace is kept") + (where ? "" : "; --trace DIR keeps one");
  if (!where) return "the trace is kept in memory while the server lives; --trace DIR keeps it";
  const std::string when = sync.value_or("second");
  return "the trace is in " + printable(*where) + ", on disk " +
         (when == "always"   ? "before each reply"
          : when == "second" ? "within a second"
                             : "when the kernel likes");
}

}  // namespace runner::cli
