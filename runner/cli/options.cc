#include "runner/cli/options.h"

#include <unistd.h>

#include <algorithm>

#include "policies/quantity.h"
#include "runner/session/content.h"
#include "runner/text.h"

namespace runner::cli {
namespace {

constexpr jail::Bytes kMaxInput = jail::mib(65'536);  // the workdir's size decides

template <class T>
Result<void> read_limit(std::optional<T>& into, const std::optional<std::string>& text,
                        policies::Result<T> (*parse_one)(std::string_view), const char* option) {
  if (!text) return {};
  const auto value = parse_one(*text);
  if (!value) {
    return fail(ErrorKind::kUsage,
                std::string(option) + " " + printable(*text) + ": " + value.error().text);
  }
  into = *value;
  return {};
}

Result<void> read_limits(policies::Wish& wish, const SharedOptions& options) {
  using policies::parse_count;
  using policies::parse_duration;
  using policies::parse_size;
  Result<void> done = read_limit(wish.memory, options.memory, parse_size, "--memory");
  if (done) done = read_limit(wish.cpu_time, options.cpu_time, parse_duration, "--cpu-time");
  if (done) done = read_limit(wish.wall_time, options.wall_time, parse_duration, "--wall-time");
  if (done) done = read_limit(wish.processes, options.processes, parse_count, "--processes");
  if (done) done = read_limit(wish.file_size, options.file_size, parse_size, "--file-size");
  if (done) {
    done = read_limit(wish.workdir_size, options.workdir_size, parse_size, "--workdir-size");
  }
  if (done) done = read_limit(wish.output, options.output, parse_size, "--output");
  return done;
}

Result<void> read_files(Job& job, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.empty() || name == "." || name == "..") {
      return fail(ErrorKind::kUsage, "--in " + printable(path) + ": not a file; give a file");
    }
    auto content = content_of_file(path, kMaxInput);
    if (!content) {
      return tl::unexpected(
          Error{content.error().kind, "--in: " + content.error().text, std::nullopt});
    }
    job.files.push_back({name, std::move(*content)});
  }
  return {};
}

}  // namespace

Words split_words(const std::vector<std::string>& words) {
  Words split;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      split.program.emplace(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    split.ours.push_back(words[i]);
  }
  return split;
}

bool Words::ask_for_help() const {
  return std::any_of(ours.begin(), ours.end(),
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

void add_shared_options(Parser& parser, SharedOptions& options) {
  parser.text("--policy", options.policy, "name of a policy (standard), or a path to a .toml file",
              "P");
  parser.repeated("--in", options.in, "put a file into the workdir; repeat for more", "FILE");
  parser.text("--out", options.out, "bring new and changed files out to this folder", "DIR");
  parser.flag("--json", options.json, "print one JSON document at the end instead of the output");
  parser.repeated("--env", options.env, "set a variable inside; repeat for more", "K=V");
  parser.repeated("--ro-bind", options.ro_bind, "show a host path inside, read-only", "SRC[:DST]");
  parser.text("--memory", options.memory, "at most the policy's own, like all limits", "512M");
  parser.text("--cpu-time", options.cpu_time, "of all processes together", "10s");
  parser.text("--wall-time", options.wall_time, "by the clock", "30s");
  parser.text("--processes", options.processes, "at once", "N");
  parser.text("--file-size", options.file_size, "of one file that is written", "30M");
  parser.text("--workdir-size", options.workdir_size, "of the workdir", "64M");
  parser.text("--output", options.output, "of stdout and of stderr that is passed on", "1M");
}

Result<void> fill_job(Job& job, const SharedOptions& options) {
  job.policy = options.policy.value_or("standard");
  if (auto limits = read_limits(job.wish, options); !limits) return limits;
  for (const std::string& assignment : options.env) {
    if (auto checked = check_env(assignment); !checked) return checked;
  }
  job.env = options.env;
  for (const std::string& text : options.ro_bind) {
    auto bind = parse_bind(text);
    if (!bind) return tl::unexpected(bind.error());
    job.extras.read_only.push_back(std::move(*bind));
  }
  return read_files(job, options.in);
}

int run_and_report(OneShot& one_shot, const Home& home, Job job, const SharedOptions& options,
                   InputFrom input, const Otherwise& otherwise) {
  const auto library = policies::Library::open(home.policies);
  if (!library) {
    return print_error({ErrorKind::kPolicy, library.error().text, std::nullopt}, options.form());
  }
  const OneShotOptions how{input, options.json ? OutputTo::kMemory : OutputTo::kCaller,
                           options.out};
  const auto finished = one_shot.run(*library, std::move(job), how);
  one_shot.close();
  if (!finished) {
    const auto code = otherwise ? otherwise(*library, finished.error()) : std::nullopt;
    return code ? *code : print_error(finished.error(), options.form());
  }
  if (options.json) {
    print_json(*finished);
  } else {
    print_notes(*finished);
  }
  if (finished->late_error) return print_error(*finished->late_error);
  return finished->outcome.exit_code;
}

}  // namespace runner::cli
