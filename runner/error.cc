#include "runner/error.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace runner {

const char* kind_name(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kUsage:
      return "usage";
    case ErrorKind::kPolicy:
      return "policy";
    case ErrorKind::kHost:
      return "host";
    case ErrorKind::kFiles:
      return "files";
    case ErrorKind::kSpawner:
      return "spawner";
    case ErrorKind::kSetup:
      return "setup";
  }
  return "host";
}

int exit_code_of(const Error& error) noexcept {
  constexpr int kFailed = 125;
  constexpr int kCannotRun = 126;
  constexpr int kNotFound = 127;
  if (!error.setup || error.setup->step != jail::Step::kExec) return kFailed;
  return error.setup->error == ENOENT ? kNotFound : kCannotRun;
}

bool host_cannot(const Error& error) noexcept {
  using jail::Step;
  if (!error.setup) return false;
  constexpr std::array kPassing = {EAGAIN, ENOMEM, EMFILE, ENFILE, EINTR};
  constexpr std::array kOfPaths = {ENOENT, EACCES, ENOTDIR, ELOOP, ENAMETOOLONG};
  constexpr std::array kOfRequests = {
      Step::kNone,         Step::kPlan,  Step::kSpawnerStart, Step::kSlots,  Step::kProtocol,
      Step::kSingleThread, Step::kFork,  Step::kOpenSource,   Step::kReport, Step::kInput,
      Step::kStdio,        Step::kChdir, Step::kExec};
  const auto has = [](const auto& list, auto value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  const jail::SetupError& setup = *error.setup;
  const bool has_path = setup.step == Step::kMount || setup.step == Step::kLandlockRules;
  return !has(kPassing, setup.error) && !has(kOfRequests, setup.step) &&
         !(has_path && has(kOfPaths, setup.error));
}

}  // namespace runner
