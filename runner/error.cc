#include "runner/error.h"

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

}  // namespace runner
