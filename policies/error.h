// Errors of this room: one line, with the place where there is one.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace policies {

struct Error {
  std::string text;  // "tight.toml:12:9: limits.memory: unit missing; write e.g. \"512M\""
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(std::string text) {
  return tl::unexpected<Error>(Error{std::move(text)});
}

}  // namespace policies
