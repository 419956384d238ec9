// What went wrong on our side. How the user's code ended is an Outcome (session/outcome.h) and
// never travels here. Plain data; any thread.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "jail/error.h"

namespace runner {

enum class ErrorKind {
  kUsage,    // the command line or request asks for something that cannot be
  kPolicy,   // a policy is missing, broken or would be loosened
  kHost,     // the host lacks something: a feature, a program, room on a disk
  kFiles,    // a file that was named cannot be read or written
  kSpawner,  // the spawner could not be started, died or fell silent
  kSetup,    // a jail or payload could not be set up; `setup` says where
};

struct Error {
  ErrorKind kind = ErrorKind::kHost;
  std::string text;  // one line: what, and how to mend it
  std::optional<jail::SetupError> setup = std::nullopt;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorKind kind, std::string text) {
  return tl::unexpected<Error>(Error{kind, std::move(text)});
}

// "usage", "policy", ... as in JSON.
const char* kind_name(ErrorKind kind) noexcept;

// 127: the program was not found, 126: it cannot be run, 125: everything else.
int exit_code_of(const Error& error) noexcept;

// Whether this host cannot make such a jail at all: no user namespaces, a kernel feature missing.
// False for what the caller can mend in the request (a path, a program, an input) and for what
// passes (no free slot, no memory, too many processes).
bool host_cannot(const Error& error) noexcept;

}  // namespace runner
