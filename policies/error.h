// Errors of this room: one line that says what and how to mend it, with file:line:column in front
// where there is such a place. Value type; any thread.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace policies {

struct Error {
  std::string text;  // "tight.toml:12:9: limits.memory: the unit is missing; write e.g. \"512M\""
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(std::string text) {
  return tl::unexpected<Error>(Error{std::move(text)});
}

}  // namespace policies
