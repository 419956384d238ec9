// sandglass demo: real Python computes a real answer in a real jail under `tight`, and then tries
// three things it may not do. Nothing is scripted: answers are what the code printed, verdicts come
// from outcomes and the seccomp listener. A refusal that does not happen fails the demo (exit 1).
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "policies/explain.h"
#include "runner/cli/options.h"
#include "runner/cli/paint.h"
#include "runner/session/content.h"
#include "runner/text.h"

namespace runner::cli {
namespace {

constexpr const char* kPolicy = "tight";

constexpr const char* kCode = R"(import csv

with open("energy.csv") as file:
    kwh = [int(row["energy_wh"]) / 1000 for row in csv.DictReader(file)]
print(sum(kwh), "kWh")
print("check:", " + ".join(map(str, kwh)), "=", sum(kwh))
)";

std::string indented(const std::string& text, const std::string& indent) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += indent + printable(line) + "\n";
  return out;
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// A file of the host's with a word that only we know; removed at the end.
class Canary {
 public:
  Canary() {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) random = 0;  // only a name
    word_ = "CANARY-" + std::to_string(random);
    std::string folder = "/var/tmp/sandglass-demo-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) return;
    folder_ = folder;
    std::ofstream(path()) << word_ << '\n';
  }
  ~Canary() {
    if (folder_.empty()) return;
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
  }
  Canary(const Canary&) = delete;
  Canary& operator=(const Canary&) = delete;
  Canary(Canary&&) = delete;
  Canary& operator=(Canary&&) = delete;

  [[nodiscard]] bool lies_there() const {
    std::ifstream file(path());
    std::string word;
    return std::getline(file, word) && word == word_;
  }
  [[nodiscard]] std::string path() const { return folder_ + "/secret.txt"; }
  [[nodiscard]] const std::string& word() const { return word_; }

 private:
  std::string folder_;
  std::string word_;
};

class Demo {
 public:
  Demo(const Home& home, const policies::Library& library)
      : home_(home), library_(library), one_shot_(home) {}

  int run() {
    put("\n  " + paint_.bold("Sandglass") +
        ": real code, really confined. Policy: " + std::string(kPolicy) + "\n");
    const Result<void> answered = answer();
    if (!answered) return print_error(answered.error());
    put("\n  " + paint_.bold("three things it may not do") + "\n");
    for (const auto attempt : {&Demo::read_host_file, &Demo::open_socket, &Demo::fork_process}) {
      const Result<void> refused = (this->*attempt)();
      if (!refused) return print_error(refused.error());
    }
    one_shot_.close();
    put(failed_
            ? "\n  " + paint_.bad("something was not refused: do not rely on this host") + "\n\n"
            : "\n  " +
                  paint_.dim("next: sandglass policy explain " + std::string(kPolicy) +
                             ", sandglass doctor") +
                  "\n\n");
    return failed_ ? 1 : 0;
  }

 private:
  Result<JobReport> python(const std::string& code, std::vector<InFile> files = {}) {
    auto content = content_of(code);
    if (!content) return tl::unexpected(content.error());
    Job job;
    job.policy = kPolicy;
    job.what = Code{"python", "", std::move(*content), {}};
    job.files = std::move(files);
    return one_shot_.run(library_, std::move(job), {});
  }

  Result<void> answer() {
    const std::string csv = home_.share + "/demo/energy.csv";
    auto content = content_of_file(csv, jail::mib(1));
    if (!content) return tl::unexpected(content.error());
    std::ifstream file(csv);
    std::ostringstream preview;
    preview << file.rdbuf();
    put("\n  " + paint_.bold("energy.csv") + "\n" + indented(preview.str(), "    "));
    put("\n  " + paint_.bold("the code") + "\n" + paint_.dim(indented(kCode, "    ")));

    std::vector<InFile> files;
    files.push_back({"energy.csv", std::move(*content)});
    const auto finished = python(kCode, std::move(files));
    if (!finished) return tl::unexpected(finished.error());
    const Outcome& outcome = finished->outcome;
    put("\n  " + paint_.bold("what it printed") + "  " +
        paint_.dim(std::string(word_text(outcome.word)) + " in " +
                   duration_text(outcome.usage.wall) + ", peak memory " +
                   size_text(outcome.usage.peak_memory)) +
        "\n");
    put(paint_.good(indented(finished->out, "    ")));
    if (outcome.word == Word::kOk) return {};
    put(indented(finished->err, "    "));
    failed_ = true;
    return {};
  }

  void verdict(const char* what, const std::string& code, const JobReport& finished,
               const std::string& why) {
    const bool refused = !why.empty();
    put("\n    " + std::string(what) + "  " + paint_.dim(printable(code)) + "\n");
    const std::string said = last_line(finished.err);
    if (!said.empty()) put("      python says  " + printable(said) + "\n");
    put(refused ? "      " + paint_.bad("refused") + "      " + printable(why) + "\n"
                : "      " + paint_.bad("NOT REFUSED") + "  " + printable(last_line(finished.out)) +
                      "\n");
    if (!refused) failed_ = true;
  }

  Result<void> read_host_file() {
    const Canary canary;
    if (!canary.lies_there()) {
      return fail(ErrorKind::kHost,
                  "cannot write below /var/tmp, where the demo puts a file for "
                  "the code to look for; make it writable");
    }
    const std::string code = "print(open(\"" + canary.path() + "\").read())";
    const auto finished = python(code);
    if (!finished) return tl::unexpected(finished.error());
    const bool seen = finished->out.find(canary.word()) != std::string::npos ||
                      finished->err.find(canary.word()) != std::string::npos;
    const bool refused = !seen && finished->outcome.word == Word::kExited;
    verdict("a file of this host", code, *finished,
            refused ? policies::explain_path(finished->policy, canary.path()).text : "");
    return {};
  }

  // The refused call by one of these names, as the listener saw it.
  static std::string denied(const JobReport& finished, std::initializer_list<const char*> names) {
    for (const DeniedEntry& entry : finished.denied) {
      if (std::find(names.begin(), names.end(), entry.syscall) == names.end()) continue;
      std::string text = entry.syscall + "(" + entry.args + "): rule " + entry.rule;
      return entry.allow_with.empty() ? text : text + "; allowed by " + entry.allow_with;
    }
    return "";
  }

  Result<void> open_socket() {
    const std::string code =
        "import socket; socket.socket().connect((\"192.0.2.1\", 80)); print(\"connected\")";
    const auto finished = python(code);
    if (!finished) return tl::unexpected(finished.error());
    const bool ended = finished->outcome.word == Word::kExited;
    verdict("a network call", code, *finished, ended ? denied(*finished, {"socket"}) : "");
    return {};
  }

  Result<void> fork_process() {
    const std::string code = "import os; print(\"child\", os.fork())";
    const auto finished = python(code);
    if (!finished) return tl::unexpected(finished.error());
    const bool ended = finished->outcome.word == Word::kExited;
    verdict("a new process", code, *finished,
            ended ? denied(*finished, {"clone", "clone3", "fork", "vfork"}) : "");
    return {};
  }

  const Home& home_;
  const policies::Library& library_;
  OneShot one_shot_;
  Paint paint_;
  bool failed_ = false;
};

}  // namespace

int demo_command(const Words& words) {
  Parser parser("demo",
                "Real code computes a real answer in a real jail, and is refused three "
                "things.",
                "sandglass demo");
  if (const auto code = parser.parse(words.ours)) return *code;
  const auto home = find_home();
  if (!home) return print_error(home.error());
  const auto library = policies::Library::open(home->policies);
  if (!library) return print_error({ErrorKind::kPolicy, library.error().text, std::nullopt});
  return Demo(*home, *library).run();
}

}  // namespace runner::cli
