#include "runner/cli/print.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "policies/quantity.h"
#include "runner/cli/command.h"
#include "runner/text.h"

namespace runner::cli {
namespace {

// 0, or an errno. O_NONBLOCK belongs to whoever opened the file, who may have set it.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote >= 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno == EAGAIN) {
      pollfd one{fd, POLLOUT, 0};
      ::poll(&one, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

void note_truncation(const char* name, const Stream& stream, jail::Bytes cap) {
  if (!stream.truncated) return;
  if (stream.produced <= cap.value) {
    note(std::string(name) + " was cut: its reader did not take all of it");
  } else {
    note(std::string(name) + " was cut at " + size_text(cap) + " of " +
         size_text({stream.produced}) + " (limits.output)");
  }
}

void note_files(const Harvest& harvest) {
  constexpr std::size_t kShown = 10;
  std::string line;
  for (const Skipped& file :
       std::span(harvest.skipped).first(std::min(kShown, harvest.skipped.size()))) {
    line += (line.empty() ? "" : "; ") + printable(file.path.empty() ? "." : file.path) + ": " +
            file.reason;
  }
  if (harvest.skipped_total > kShown) {
    line += "; and " + std::to_string(harvest.skipped_total - kShown) + " more";
  }
  if (!line.empty()) note("not brought out: " + line);
}

wire::LimitLine size_line(std::string name, jail::Bytes value, std::string by) {
  return {std::move(name), policies::print_size(value), value.value, "bytes", std::move(by)};
}

wire::LimitLine time_line(std::string name, jail::Millis value, std::string by) {
  return {std::move(name), policies::print_duration(value),
          static_cast<std::uint64_t>(value.count()), "ms", std::move(by)};
}

wire::LimitLine count_line(std::string name, std::uint64_t value, std::string by) {
  return {std::move(name), std::to_string(value), value, "count", std::move(by)};
}

}  // namespace

void note(std::string_view text) {
  (void)write_all(STDERR_FILENO, "sandglass: " + std::string(text) + "\n");
}

int& put_error() {
  static int first = 0;
  return first;
}

void put(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (put_error() == 0 && error != EPIPE) put_error() = error;
}

int try_put(std::string_view text) { return write_all(STDOUT_FILENO, text); }

int lost_output(int error) {
  if (error == EPIPE) return 128 + SIGPIPE;
  note("cannot write to stdout: " + jail::errno_name(error) + "; see whether there is room");
  return kFailed;
}

int print_error(const Error& error, Form form) {
  note(error.text);
  if (form == Form::kJson) put(wire::to_json(error) + "\n");
  return exit_code_of(error);
}

void print_notes(const JobReport& finished) {
  if (finished.reader_gone) return;  // as quiet as any program whose reader has gone
  const Outcome& outcome = finished.outcome;
  const jail::Bytes cap = finished.policy.limits.output;
  note_truncation("stdout", outcome.out, cap);
  note_truncation("stderr", outcome.err, cap);
  if (!outcome.text.empty())
    note(std::string(ending_text(ending_of(outcome))) + ": " + word_text(outcome.word) + ": " +
         outcome.text);
  const std::string line = denied_line(finished.denied, finished.denied_total);
  if (!line.empty()) note(line);
  if (finished.files) note_files(*finished.files);
}

std::vector<wire::LimitLine> limit_lines(const JobReport& finished) {
  const policies::Limits& limits = finished.policy.limits;
  const jail::Hello& hello = finished.hello;
  return {size_line("memory", limits.memory, enforcer_text(hello.memory)),
          time_line("cpu_time", limits.cpu_time, enforcer_text(hello.cpu_time)),
          time_line("wall_time", limits.wall_time, "sandglass"),
          count_line("processes", limits.processes, enforcer_text(hello.processes)),
          count_line("open_files", limits.open_files, "rlimit"),
          size_line("file_size", limits.file_size, "rlimit"),
          size_line("workdir_size", finished.policy.files.workdir.size, "tmpfs"),
          size_line("output", limits.output, "sandglass")};
}

void print_json(const JobReport& finished) {
  const std::vector<wire::LimitLine> limits = limit_lines(finished);
  wire::Report report;
  report.policy = finished.policy.name;
  report.language = finished.language;
  report.outcome = finished.outcome;
  report.out = finished.out;
  report.err = finished.err;
  report.denied = finished.denied;
  report.denied_total = finished.denied_total;
  report.denied_throttled = finished.denied_throttled;
  report.files = finished.files ? &*finished.files : nullptr;
  report.error = finished.late_error ? &*finished.late_error : nullptr;
  report.limits = limits;
  put(wire::to_json(report) + "\n");
}

}  // namespace runner::cli
