// sandglass doctor: what this host can and cannot give, what is lost without it, how to get it;
// and then /bin/true under `standard`, for real. Exit 0 only if `standard` can run fully.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "jail/host.h"
#include "runner/cli/options.h"
#include "runner/cli/paint.h"
#include "runner/text.h"

namespace runner::cli {
namespace {

namespace json = boost::json;
using jail::Feature;
using jail::Need;
using jail::Verdict;

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Feature program(const std::string& language, const policies::Interpreter& interpreter) {
  Feature feature;
  feature.name = language;
  feature.need = Need::kOptional;
  const std::string& path = interpreter.command.front();
  feature.verdict = ::access(path.c_str(), X_OK) == 0 ? Verdict::kPresent : Verdict::kAbsent;
  feature.found = path;
  feature.layer = "run --lang " + language;
  feature.lost = "code in " + language;
  feature.mend = interpreter.package.empty() ? "" : "apt-get install " + interpreter.package;
  return feature;
}

Feature python_library(const std::string& name) {
  Feature feature;
  feature.name = "python " + name;
  feature.need = Need::kOptional;
  const std::string path = "/usr/lib/python3/dist-packages/" + name;
  feature.verdict = exists(path) ? Verdict::kPresent : Verdict::kAbsent;
  feature.found = feature.verdict == Verdict::kPresent ? path : "";
  feature.layer = "data analysis";
  feature.lost = "import " + name;
  feature.mend = "apt-get install python3-" + name;
  return feature;
}

Feature font_cache(const Home& home) {
  Feature feature;
  feature.name = "warm font list";
  feature.need = Need::kOptional;
  const bool there = exists(home.share + "/warm/matplotlib");
  feature.verdict = there ? Verdict::kPresent : Verdict::kAbsent;
  feature.found = there ? "made when sandglass was built" : "";
  feature.layer = "matplotlib";
  feature.lost = "a first plot without delay";
  feature.mend = "install python3-matplotlib and build again";
  return feature;
}

std::vector<Feature> inspect(const Home& home, const policies::Policy& standard) {
  std::vector<Feature> features = jail::inspect_host();
  for (const auto& [language, interpreter] : standard.interpreters) {
    features.push_back(program(language, interpreter));
  }
  if (const auto python = standard.interpreters.find("python");
      python != standard.interpreters.end()) {
    for (const std::string& module : python->second.preload) {
      features.push_back(python_library(module.substr(0, module.find('.'))));
    }
  }
  features.push_back(font_cache(home));
  return features;
}

const char* verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPresent:
      return "yes";
    case Verdict::kAbsent:
      return "no";
    case Verdict::kUnknown:
      return "?";
  }
  return "?";
}

// The real thing: a jail under `standard`, and a program in it.
struct Trial {
  std::string text;
  bool passed = false;
};

Trial run_true(OneShot& one_shot, const policies::Library& library) {
  Job job;
  job.what = Program{{"/bin/true"}};
  const auto finished = one_shot.run(library, std::move(job), {});
  if (!finished) return {finished.error().text, false};
  const Outcome& outcome = finished->outcome;
  if (outcome.word != Word::kOk) {
    return {std::string(word_text(outcome.word)) + ": " + outcome.text, false};
  }
  return {"ran in a jail and ended with 0 (memory: " +
              std::string(enforcer_text(finished->hello.memory)) +
              ", processes: " + enforcer_text(finished->hello.processes) + ")",
          true};
}

std::string mark(const Paint& paint, const Feature& feature) {
  if (feature.verdict == Verdict::kPresent) return paint.good("yes");
  const std::string text = feature.verdict == Verdict::kAbsent ? "no " : "?  ";
  return feature.need == Need::kRequired ? paint.bad(text) : text;
}

void print_table(const std::vector<Feature>& features, const Trial& trial) {
  const Paint paint;
  std::size_t width = 0;
  for (const Feature& feature : features) width = std::max(width, feature.name.size());
  for (const Feature& feature : features) {
    const std::string indent(5, ' ');
    put(mark(paint, feature) + "  " + paint.bold(feature.name) +
        std::string(width - feature.name.size() + 2, ' ') + printable(feature.found) + "\n");
    put(paint.dim(indent + "for " + feature.layer +
                  (feature.need == Need::kRequired ? "" : " (optional)")) +
        "\n");
    if (feature.verdict == Verdict::kPresent) continue;
    put(indent + "without it: " + feature.lost + "\n");
    if (!feature.mend.empty()) put(indent + "to have it: " + feature.mend + "\n");
  }
  put("\n/bin/true under standard: " +
      (trial.passed ? paint.good(trial.text) : paint.bad(printable(trial.text))) + "\n");
}

void print_as_json(const std::vector<Feature>& features, const Trial& trial, Verdict whole) {
  json::array list;
  for (const Feature& feature : features) {
    list.push_back(json::object{{"name", feature.name},
                                {"here", verdict_text(feature.verdict)},
                                {"required", feature.need == Need::kRequired},
                                {"found", to_utf8(feature.found)},
                                {"layer", feature.layer},
                                {"lost", feature.lost},
                                {"mend", feature.mend}});
  }
  const json::object object{
      {"standard_runs_fully", whole == Verdict::kPresent},
      {"trial", json::object{{"passed", trial.passed}, {"text", to_utf8(trial.text)}}},
      {"features", std::move(list)}};
  put(wire::ascii_escaped(json::serialize(object)) + "\n");
}

}  // namespace

int doctor_command(const Words& words) {
  bool as_json = false;
  Parser parser("doctor", "Says what this host can and cannot give, and how to mend it.",
                "sandglass doctor [--json]");
  parser.flag("--json", as_json, "one JSON document");
  if (const auto code = parser.parse(words.ours)) return *code;
  const auto home = find_home();
  if (!home) return print_error(home.error());
  const auto library = policies::Library::open(home->policies);
  if (!library) return print_error({ErrorKind::kPolicy, library.error().text, std::nullopt});
  const auto standard = library->find("standard");
  if (!standard) return print_error({ErrorKind::kPolicy, standard.error().text, std::nullopt});

  const std::vector<Feature> features = inspect(*home, *standard);
  OneShot one_shot(*home);
  const Trial trial = run_true(one_shot, *library);
  const bool runs =
      trial.passed && std::all_of(features.begin(), features.end(), [](const Feature& feature) {
        return feature.need == Need::kOptional || feature.verdict == Verdict::kPresent;
      });
  const Verdict whole = runs ? Verdict::kPresent : Verdict::kAbsent;
  if (as_json) {
    print_as_json(features, trial, whole);
  } else {
    print_table(features, trial);
  }
  return whole == Verdict::kPresent ? 0 : 1;
}

}  // namespace runner::cli
