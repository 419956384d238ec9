#include "runner/session/driver.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "jail/client.h"
#include "policies/compile.h"
#include "runner/session/content.h"
#include "runner/session/job.h"

namespace runner {
namespace {

namespace fs = std::filesystem;

struct Driver {
  std::string_view language;
  std::string_view file;
  std::string_view ending;  // of its parts
};

constexpr std::array kDrivers{Driver{"python", "driver.py", ".py"},
                              Driver{"node", "driver.js", ".js"},
                              Driver{"bash", "driver.sh", ".sh"}};

const Driver* driver_of(const std::string& language) {
  for (const Driver& driver : kDrivers)
    if (driver.language == language) return &driver;
  return nullptr;
}

Result<void> put_file(jail::Spec& spec, const fs::path& source, const std::string& target) {
  constexpr jail::Bytes kMost = jail::mib(1);
  const auto content = content_of_file(source.string(), kMost);
  if (!content) return tl::unexpected(content.error());
  auto text = text_of(*content);
  if (!text) return tl::unexpected(text.error());
  jail::Mount mount;
  mount.kind = jail::MountKind::kFile;
  mount.target = target;
  mount.contents = std::move(*text);
  mount.mode = 0444;
  spec.mounts.push_back(std::move(mount));
  return {};
}

}  // namespace

bool has_driver(const std::string& language) { return driver_of(language) != nullptr; }

Result<jail::Fd> put_driver(jail::Spec& spec, const Home& home, const policies::Policy& policy,
                            const std::string& language) {
  const Driver& driver = *driver_of(language);
  const policies::Interpreter& interpreter = policy.interpreters.at(language);
  if (::access(interpreter.command.front().c_str(), X_OK) != 0)
    return fail(ErrorKind::kHost,
                language + " is not on this host; apt-get install " + interpreter.package);
  const fs::path folder = home.share + "/interpreters";
  const std::string base = policies::kCodeDir;
  spec.code_dir.clear();  // the files lie in its place
  const std::string file(driver.file);
  if (auto put = put_file(spec, folder / file, base + "/" + file); !put)
    return tl::unexpected(put.error());
  std::error_code error;
  for (const auto& part : fs::directory_iterator(folder / "_sandglass", error)) {
    if (part.path().extension() != driver.ending) continue;
    const std::string target = base + "/_sandglass/" + part.path().filename().string();
    if (auto put = put_file(spec, part.path(), target); !put) return tl::unexpected(put.error());
  }
  if (error)
    return fail(ErrorKind::kFiles, "the drivers are missing from the installation: install again");
  jail::Command command;
  command.argv = interpreter.command;
  command.argv.push_back(base + "/" + file);
  command.argv.emplace_back("3");
  command.env = environment_of(policy, &interpreter, {});
  command.cwd = policy.files.workdir.path;
  auto sealed = jail::make_command(command);
  if (!sealed)
    return tl::unexpected(
        Error{ErrorKind::kSetup, jail::describe(sealed.error(), nullptr), sealed.error()});
  return std::move(*sealed);
}

}  // namespace runner
