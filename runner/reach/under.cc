#include "runner/reach/under.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "runner/reach/facts.h"
#include "runner/reach/interrupt.h"
#include "runner/session/outcome.h"
#include "runner/text.h"

namespace runner::reach {
namespace {

namespace fs = std::filesystem;

// Within the forty seconds after which layers/main.cc has an alarm.
constexpr std::chrono::seconds kProbeLimit{20};
constexpr std::chrono::seconds kFactsLimit{30};

std::vector<std::string> environment(const std::vector<std::string>& more) {
  std::vector<std::string> env;
  for (char** word = ::environ; word != nullptr && *word != nullptr; ++word) {
    env.emplace_back(*word);
  }
  env.insert(env.end(), more.begin(), more.end());
  return env;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A program's absolute path, as execvp(3) would find it from here; "": there is none.
std::string found_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string folders = path == nullptr ? "/usr/bin:/bin" : path;
  if (name.find('/') != std::string::npos) folders = "/";
  std::istringstream list(folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    std::error_code error;
    const bool bare = name.find('/') == std::string::npos;
    const fs::path whole = fs::absolute(bare ? fs::path(folder) / name : fs::path(name), error);
    if (!error && fs::is_regular_file(whole, error) && ::access(whole.c_str(), X_OK) == 0)
      return whole;
  }
  return "";
}

tl::unexpected<Error> no_program(const std::string& name) {
  return fail(ErrorKind::kHost, "there is no program " + printable(name) +
                                    (name.find('/') == std::string::npos ? " in PATH" : ""));
}

// The words that start something as the control is started: unprivileged, bounded, in `folder`.
Result<std::vector<std::string>> bounded(const Outside& outside, const std::string& folder,
                                         std::vector<std::string> words) {
  const auto program = layers_path();
  if (!program) return tl::unexpected(program.error());
  const std::string path = found_in_path(words[0]);
  if (path.empty()) return no_program(words[0]);
  words[0] = path;
  std::vector<std::string> all = {
      *program, std::to_string(outside.uid()), folder, "none", "-1", "-1", "--"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

// Runs it in a working folder of its own, which is gone afterwards.
Result<Said> run_bounded(const Outside& outside, const std::string& name,
                         std::vector<std::string> words, const std::vector<std::string>& env,
                         std::chrono::milliseconds limit) {
  const auto folder = outside.work_folder(name);
  if (!folder) return tl::unexpected(folder.error());
  const auto all = bounded(outside, *folder, std::move(words));
  auto said =
      all ? run_plainly(*all, environment(env), limit) : Result<Said>(tl::unexpected(all.error()));
  outside.remove(*folder);
  if (is_interrupted()) return interrupted();
  return said;
}

// A sandbox passes on by its exit status, as a shell does, by which signal its program ended.
int signal_in(int wait_status) {
  constexpr int kBySignal = 128;
  if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) <= kBySignal) return wait_status;
  const int signal = WEXITSTATUS(wait_status) - kBySignal;
  return signal < _NSIG ? signal : wait_status;
}

std::string ending(const Said& said) {
  if (!said.in_time) return "it did not end in time";
  if (WIFSIGNALED(said.wait_status))
    return "it ended by " + signal_text(WTERMSIG(said.wait_status));
  return "it exited with " + std::to_string(WEXITSTATUS(said.wait_status));
}

class Under final : public Subject {
 public:
  Under(const Outside& outside, std::vector<std::string> sandbox)
      : outside_(outside), sandbox_(std::move(sandbox)) {}

  [[nodiscard]] std::string name() const override { return base_name(sandbox_[0]); }
  [[nodiscard]] std::string mode() const override { return "under"; }
  // What is fetched from a working folder is ours to fetch: no other sandbox has that part.
  [[nodiscard]] bool can_run(const Probe& probe) const override {
    return probe.by == By::kHelper || probe.by == By::kPython;
  }
  [[nodiscard]] std::optional<Verdict> expected(const Probe& /*probe*/) const override {
    return std::nullopt;
  }

  Answer run(const Attempt& attempt) override {
    const std::string helper = outside_.helper();
    auto words = command_under(sandbox_, helper, plain_command(helper, *attempt.probe));
    auto said =
        run_bounded(outside_, attempt.tag + "-under", std::move(words), attempt.env, kProbeLimit);
    Answer answer;
    if (!said) {
      answer.error = said.error();
      return answer;
    }
    answer.out = std::move(said->out);
    answer.err = std::move(said->err);
    answer.wait_status = signal_in(said->wait_status);
    answer.exited = said->in_time;
    return answer;
  }

 private:
  const Outside& outside_;
  std::vector<std::string> sandbox_;
};

}  // namespace

Result<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      inside = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (inside) words.push_back(std::move(word));
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote != '\0') return fail(ErrorKind::kUsage, "--under: a quote stays open");
  if (inside) words.push_back(std::move(word));
  if (words.empty()) return fail(ErrorKind::kUsage, "--under wants a command: 'bwrap ... --'");
  return words;
}

std::vector<std::string> command_under(const std::vector<std::string>& sandbox,
                                       const std::string& helper,
                                       const std::vector<std::string>& command) {
  constexpr std::string_view kPlace = "{helper}";
  std::vector<std::string> words;
  for (std::string word : sandbox) {
    for (std::size_t at = 0; (at = word.find(kPlace, at)) != std::string::npos;) {
      word.replace(at, kPlace.size(), helper);
      at += helper.size();
    }
    words.push_back(std::move(word));
  }
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Result<std::unique_ptr<Subject>> make_under(const Outside& outside,
                                            std::vector<std::string> sandbox) {
  if (found_in_path(sandbox[0]).empty()) return no_program(sandbox[0]);
  return std::make_unique<Under>(outside, std::move(sandbox));
}

Result<Surface> measure_under(const Outside& outside_world, const std::vector<std::string>& sandbox,
                              std::vector<Call> calls) {
  const std::string helper = outside_world.helper();
  const auto outside =
      run_bounded(outside_world, "facts-outside", {helper, "--facts", "all"}, {}, kFactsLimit);
  if (!outside) return tl::unexpected(outside.error());
  const auto inside =
      run_bounded(outside_world, "facts-inside",
                  command_under(sandbox, helper, {helper, "--facts"}), {}, kFactsLimit);
  if (!inside) return tl::unexpected(inside.error());
  auto surface = surface_of_facts(inside->out, outside->out, std::move(calls));
  if (!surface) {
    const std::string words = inside->err.substr(0, inside->err.find('\n'));
    return fail(ErrorKind::kHost,
                printable(sandbox[0]) + ": " + surface.error().text + " (" + ending(*inside) + ")" +
                    (words.empty() ? "" : ": " + printable(words)) +
                    "; it must show the program that asks: with bwrap, --ro-bind {helper} {helper} "
                    "({helper} stands for its path)");
  }
  surface->subject = base_name(sandbox[0]);
  std::string command;
  for (const std::string& word : sandbox) command += (command.empty() ? "" : " ") + word;
  surface->notes.insert(surface->notes.begin(), "command: " + command);
  return surface;
}

}  // namespace runner::reach
