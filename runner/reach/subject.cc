#include "runner/reach/subject.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "runner/session/home.h"
#include "runner/session/outcome.h"
#include "runner/text.h"

namespace runner::reach {
namespace {

constexpr std::string_view kReached = "REACHED ";
constexpr std::string_view kBlocked = "BLOCKED ";
constexpr int kLastErrno = 133;

// The last line that is a verdict: whatever a probe writes besides comes before it.
std::string verdict_line(const std::string& out) {
  std::string found;
  for (std::size_t at = 0; at < out.size();) {
    const std::size_t end = std::min(out.find('\n', at), out.size());
    const std::string_view line = std::string_view(out).substr(at, end - at);
    if (line.starts_with(kReached) || line.starts_with(kBlocked)) found = line;
    at = end + 1;
  }
  return found;
}

int errno_of(std::string_view word) {
  for (int error = 1; error <= kLastErrno; ++error)
    if (jail::errno_name(error) == word) return error;
  return 0;
}

Observation blocked(std::string detail, int error = 0) {
  return {Verdict::kBlocked, std::move(detail), error};
}

Observation read_line(const std::string& line) {
  if (line.starts_with(kReached))
    return {Verdict::kReached, printable(line.substr(kReached.size())), 0};
  const std::string rest = line.substr(kBlocked.size());
  const std::size_t space = std::min(rest.find(' '), rest.size());
  const int error = errno_of(rest.substr(0, space));
  std::string text = space == rest.size() ? rest : rest.substr(space + 1);
  return blocked(printable(text), error);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// It said nothing: how it ended may say enough.
Observation without_word(const Answer& answer) {
  if (answer.ended_by)
    return blocked("ended by the limit, " + std::string(layer_text(*answer.ended_by)));
  if (answer.cut) return blocked("its output was cut");
  const int status = answer.wait_status;
  if (answer.exited && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
    return blocked("killed by SIGSYS, seccomp's signal");
  std::string how = "it was killed";
  if (answer.exited && WIFSIGNALED(status)) how = "it ended by " + signal_text(WTERMSIG(status));
  if (answer.exited && WIFEXITED(status))
    how = "it exited with " + std::to_string(WEXITSTATUS(status));
  const std::string words = first_line(answer.err);
  return {Verdict::kInconclusive,
          how + " without a verdict" + (words.empty() ? "" : ": " + printable(words)), 0};
}

}  // namespace

Result<std::string> helper_path() {
  const auto home = find_home();
  if (!home) return tl::unexpected(home.error());
  const std::string& library = home->join_library;
  std::string path = library.substr(0, library.rfind('/')) + "/sandglass-reach";
  if (::access(path.c_str(), X_OK) == 0) return path;
  return fail(ErrorKind::kFiles, path + " is missing from the installation: install again");
}

std::vector<std::string> plain_command(const std::string& helper, const Probe& probe) {
  if (probe.by == By::kPython) return {"/usr/bin/python3", "-s", "-c", std::string(probe.code)};
  return {helper, std::string(probe.id)};
}

Observation judge(const Probe& probe, const Answer& answer) {
  if (answer.error)
    return {Verdict::kInconclusive, answer.error->text, 0, host_cannot(*answer.error)};
  const std::string line = verdict_line(answer.out);
  // Whoever counts its output need not believe what it says.
  const bool counted = probe.category == Category::kResources && answer.cut;
  if (line.empty() || counted) return without_word(answer);
  Observation said = read_line(line);
  if (probe.id == "c10" && answer.ended_by)
    return {Verdict::kReached, "its own word for how it ended was believed", 0};
  if (probe.by != By::kHost || said.verdict == Verdict::kBlocked) return said;
  if (!answer.leaked.empty()) return {Verdict::kReached, printable(answer.leaked), 0};
  return blocked(said.detail + ", and nothing came of it");
}

}  // namespace runner::reach
