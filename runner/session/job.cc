#include "runner/session/job.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "jail/client.h"
#include "policies/paths.h"
#include "policies/validate.h"
#include "runner/session/content.h"
#include "runner/text.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array kAliases = {
    Pair{"python3", "python"},  Pair{"py", "python"}, Pair{"js", "node"},    Pair{"nodejs", "node"},
    Pair{"javascript", "node"}, Pair{"sh", "bash"},   Pair{"shell", "bash"}, Pair{"pl", "perl"}};
// Endings beside the one an interpreter declares. node goes by them: they are kept.
constexpr std::array kMoreEndings = {Pair{".mjs", "node"}, Pair{".cjs", "node"}};

tl::unexpected<Error> policy_error(const policies::Error& error) {
  return fail(ErrorKind::kPolicy, error.text);
}

std::string ending_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(dot);
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// The error for a language the policy lacks: what it has, and who has the language.
tl::unexpected<Error> no_language(const policies::Library& library, const policies::Policy& policy,
                                  const std::string& language) {
  std::vector<std::string> declared;
  for (const auto& [name, interpreter] : policy.interpreters) declared.push_back(name);
  std::vector<std::string> elsewhere;
  for (const std::string& name : library.names()) {
    const auto other = library.find(name);
    if (other && other->interpreters.contains(language)) elsewhere.push_back(name);
  }
  std::string text =
      "the policy \"" + policy.name + "\" does not declare the language " + printable(language);
  text += declared.empty() ? "; it declares none" : "; it declares " + join(declared);
  if (elsewhere.empty()) return fail(ErrorKind::kUsage, text + "; no shipped policy does");
  const bool usual = std::find(elsewhere.begin(), elsewhere.end(), "standard") != elsewhere.end();
  text += "; " + join(elsewhere) + (elsewhere.size() > 1 ? " do" : " does") + ": try --policy " +
          (usual ? "standard" : elsewhere.front());
  return fail(ErrorKind::kUsage, text);
}

Result<void> check_interpreter(const std::string& language,
                               const policies::Interpreter& interpreter) {
  const std::string& program = interpreter.command.front();
  if (!program.starts_with('/') || ::access(program.c_str(), X_OK) == 0) return {};
  return fail(ErrorKind::kHost,
              language + " is not on this host: " + program + " is missing" +
                  (interpreter.package.empty() ? std::string()
                                               : "; apt-get install " + interpreter.package));
}

// A limit that we are under ourselves holds for the payload as well, so it is the policy's: the
// hard limit, beyond which no process of ours can go (setrlimit(2)).
std::uint64_t own_limit(__rlimit_resource resource) {
  rlimit own{};
  if (::getrlimit(resource, &own) != 0) return RLIM_INFINITY;
  return own.rlim_max;
}

void take_own_limits(policies::Limits& limits) {
  limits.open_files = std::min<std::uint64_t>(limits.open_files, own_limit(RLIMIT_NOFILE));
  limits.file_size.value = std::min(limits.file_size.value, own_limit(RLIMIT_FSIZE));
  const std::uint64_t seconds = own_limit(RLIMIT_CPU);
  const auto most = static_cast<std::uint64_t>(limits.cpu_time.count());
  if (seconds <= most / 1000 && seconds * 1000 < most) {
    limits.cpu_time = jail::Millis(std::max<std::uint64_t>(seconds, 1) * 1000);
  }
}

// Collects inputs: path, mode and content in step.
struct Inputs {
  std::vector<jail::Input> list;
  std::vector<jail::Fd> contents;

  void add(std::string path, std::uint32_t mode, jail::Fd content) {
    list.push_back({std::move(path), mode});
    contents.push_back(std::move(content));
  }
};

// Warm caches ship with the program or were made when it was built; none is needed to run.
void add_warm(Inputs& inputs, const Home& home, const policies::Interpreter& interpreter) {
  constexpr jail::Bytes kMost = jail::mib(8);
  for (const auto& [source, target] : interpreter.warm) {
    auto content = content_of_file(home.share + "/warm/" + source, kMost);
    if (content) inputs.add(target, 0644, std::move(*content));
  }
}

// Files in the code's language lie beside the code as well, where it looks for its modules first:
// the folder of the script, not the one it runs in. The code itself comes first.
Result<void> add_modules(Inputs& inputs, const std::string& code_path,
                         const std::vector<InFile>& files) {
  for (const InFile& file : files) {
    const std::string path = std::string(policies::kCodeDir) + "/" + file.name;
    if (ending_of(file.name) != ending_of(code_path) || path == code_path) continue;
    jail::Fd same(::fcntl(file.content.get(), F_DUPFD_CLOEXEC, 3));
    if (!same.valid()) {
      return fail(ErrorKind::kHost, "cannot pass " + printable(file.name) + ": " +
                                        jail::errno_name(errno) + "; raise ulimit -n");
    }
    inputs.add(path, 0444, std::move(same));
  }
  return {};
}

Result<void> add_files(Inputs& inputs, const policies::Policy& policy, std::vector<InFile> files) {
  std::set<std::string> names;
  std::uint64_t total = 0;
  for (InFile& file : files) {
    if (!names.insert(file.name).second) {
      return fail(ErrorKind::kUsage, "--in: two files are named " + printable(file.name) +
                                         "; rename one, since both would lie in " +
                                         policy.files.workdir.path);
    }
    total += size_of(file.content).value;
    inputs.add(policy.files.workdir.path + "/" + file.name, 0644, std::move(file.content));
  }
  if (total > policy.files.workdir.size.value) {
    return fail(ErrorKind::kUsage, "--in: " + size_text({total}) + " do not fit into " +
                                       policy.files.workdir.path + " (files.workdir.size " +
                                       size_text(policy.files.workdir.size) +
                                       "); give less, or use a policy with a larger workdir");
  }
  if (inputs.list.size() > jail::kMaxInputs) {
    return fail(ErrorKind::kUsage, "--in: more files than the " + std::to_string(jail::kMaxInputs) +
                                       " that can be passed; pack them into one archive");
  }
  return {};
}

// The command line inside the jail.
struct Start {
  std::vector<std::string> argv;
  const policies::Interpreter* interpreter = nullptr;
  std::optional<std::string> language;
};

// A file called x.js is JavaScript even where the policy has none: the error should say so.
std::string language_by_ending(const policies::Library& library, const policies::Policy& policy,
                               const std::string& name) {
  std::string language = language_of_file(policy, name);
  if (!language.empty() || ending_of(name).empty()) return language;
  for (const std::string& other : library.names()) {
    const auto found = library.find(other);
    if (found && language.empty()) language = language_of_file(*found, name);
  }
  return language;
}

Result<Start> start_code(const Home& home, const policies::Library& library,
                         const policies::Policy& policy, Code code,
                         const std::vector<InFile>& files, Inputs& inputs) {
  std::string language = canonical_language(code.language);
  if (language.empty()) language = language_by_ending(library, policy, code.file_name);
  if (language.empty()) language = "python";
  const auto found = policy.interpreters.find(language);
  if (found == policy.interpreters.end()) return no_language(library, policy, language);
  const policies::Interpreter& interpreter = found->second;
  if (auto checked = check_interpreter(language, interpreter); !checked) {
    return tl::unexpected(checked.error());
  }
  // node reads a file's ending: keep ".mjs" where the language is the same.
  const std::string ending = ending_of(code.file_name);
  const bool keep = !ending.empty() && language_of_file(policy, code.file_name) == language;
  const std::string path =
      std::string(policies::kCodeDir) + "/main" + (keep ? ending : interpreter.extension);
  inputs.add(path, 0444, std::move(code.content));
  if (auto added = add_modules(inputs, path, files); !added) return tl::unexpected(added.error());
  add_warm(inputs, home, interpreter);
  Start start{interpreter.command, &interpreter, language};
  start.argv.push_back(path);
  for (std::string& arg : code.args) start.argv.push_back(std::move(arg));
  return start;
}

}  // namespace

std::vector<std::string> environment_of(const policies::Policy& policy,
                                        const policies::Interpreter* interpreter,
                                        const std::vector<std::string>& extra) {
  std::map<std::string, std::string> env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                            {"HOME", policy.files.workdir.path},
                                            {"LANG", "C.UTF-8"},
                                            {"TMPDIR", "/tmp"}};
  if (interpreter != nullptr) {
    for (const auto& [name, value] : interpreter->env) env[name] = value;
  }
  for (const std::string& assignment : extra) {
    const std::size_t equals = assignment.find('=');
    env[assignment.substr(0, equals)] = assignment.substr(equals + 1);
  }
  std::vector<std::string> list;
  list.reserve(env.size());
  for (const auto& [name, value] : env) list.push_back(name + "=" + value);
  return list;
}

std::string canonical_language(const std::string& word) {
  for (const auto& [alias, name] : kAliases) {
    if (alias == word) return std::string(name);
  }
  return word;
}

std::string language_of_file(const policies::Policy& policy, const std::string& name) {
  const std::string ending = ending_of(name);
  if (ending.empty()) return "";
  for (const auto& [language, interpreter] : policy.interpreters) {
    if (interpreter.extension == ending) return language;
  }
  for (const auto& [known, language] : kMoreEndings) {
    if (known == ending) return std::string(language);
  }
  return "";
}

Result<void> check_env(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string name = assignment.substr(0, equals);
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  const bool proper = !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
                      std::all_of(name.begin(), name.end(), [&](char c) {
                        return is_letter(c) || c == '_' || (c >= '0' && c <= '9');
                      });
  if (equals == std::string::npos || !proper) {
    return fail(ErrorKind::kUsage, "--env " + printable(assignment) +
                                       ": not NAME=VALUE; a name has letters, digits and _");
  }
  constexpr std::array<std::string_view, 5> kLoader = {"LD_", "GCONV_", "GLIBC_TUNABLES", "MALLOC_",
                                                       "LOCPATH"};
  for (const std::string_view prefix : kLoader) {
    if (!name.starts_with(prefix)) continue;
    return fail(ErrorKind::kUsage,
                "--env " + name +
                    ": the loader and C library of every program in the jail obey "
                    "it, so it is not passed; set it in the code that needs it");
  }
  return {};
}

Result<policies::Bind> parse_bind(const std::string& text) {
  std::string source = text;
  std::string target;
  std::error_code ignored;
  // A name may hold a colon: the whole text as a path goes first.
  if (!fs::exists(text, ignored)) {
    const std::size_t colon = text.rfind(":/");
    if (colon != std::string::npos && colon > 0) {
      source = text.substr(0, colon);
      target = text.substr(colon + 1);
    }
  }
  if (source.empty() || !fs::exists(source, ignored)) {
    return fail(ErrorKind::kFiles, "--ro-bind " + printable(text) + ": " + printable(source) +
                                       " does not exist; give SRC or SRC:/absolute/target");
  }
  policies::Bind bind;
  std::string named = fs::absolute(source, ignored).lexically_normal().string();
  if (named.size() > 1 && named.ends_with('/')) named.pop_back();
  bind.target = target.empty() ? named : target;
  // What is shown is where the links lead, so that is what the rules must be asked about.
  bind.source = fs::canonical(source, ignored).string();
  for (const std::string& path : {bind.source, bind.target}) {
    const std::string wrong = policies::refuse_path(path);
    if (!wrong.empty()) {
      return fail(ErrorKind::kUsage, "--ro-bind " + printable(path) + ": " + wrong);
    }
  }
  return bind;
}

std::vector<KnownInput> Prepared::known_inputs() const {
  std::vector<KnownInput> known;
  const std::string prefix = policy.files.workdir.path + "/";
  for (std::size_t i = 0; i < input_paths.size(); ++i) {
    if (!input_paths[i].starts_with(prefix)) continue;
    known.push_back({input_paths[i].substr(prefix.size()), &inputs[i]});
  }
  return known;
}

Result<Prepared> prepare(const Home& home, const policies::Library& library, Job job) {
  auto found = library.find(job.policy);
  if (!found) return policy_error(found.error());
  auto narrowed = policies::narrow(std::move(*found), job.wish);
  if (!narrowed) return policy_error(narrowed.error());
  Prepared prepared;
  prepared.policy = std::move(*narrowed);
  take_own_limits(prepared.policy.limits);
  const policies::Policy& policy = prepared.policy;

  auto spec = policies::to_spec(policy, library.syscalls(), job.extras);
  if (!spec) return policy_error(spec.error());
  prepared.spec = std::move(*spec);
  Inputs inputs;
  Start start;
  if (auto* code = std::get_if<Code>(&job.what)) {
    auto started = start_code(home, library, policy, std::move(*code), job.files, inputs);
    if (!started) return tl::unexpected(started.error());
    start = std::move(*started);
  } else {
    start.argv = std::move(std::get<Program>(job.what).argv);
  }
  if (auto added = add_files(inputs, policy, std::move(job.files)); !added) {
    return tl::unexpected(added.error());
  }

  auto plan = jail::make_plan(prepared.spec);
  if (!plan) {
    return tl::unexpected(
        Error{ErrorKind::kSetup, jail::describe(plan.error(), &prepared.spec), plan.error()});
  }
  const jail::Command command{std::move(start.argv),
                              environment_of(policy, start.interpreter, job.env),
                              policy.files.workdir.path, inputs.list};
  auto sealed = jail::make_command(command);
  if (!sealed) {
    return tl::unexpected(
        Error{ErrorKind::kSetup, jail::describe(sealed.error(), nullptr), sealed.error()});
  }
  prepared.program = command.argv.front();
  prepared.language = std::move(start.language);
  prepared.plan = std::move(*plan);
  prepared.command = std::move(*sealed);
  prepared.inputs = std::move(inputs.contents);
  for (jail::Input& input : inputs.list) prepared.input_paths.push_back(std::move(input.path));
  return prepared;
}

}  // namespace runner
