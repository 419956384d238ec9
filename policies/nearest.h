// "did you mean": the known word that a typo is closest to. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace policies {

// The known word within a third of `word`'s length (at least one, at most three) in edits; empty
// when none is that close. `word` is compared up to 64 characters.
std::string nearest(std::string_view word, std::span<const std::string> known);

// `; did you mean "memory"?`, or empty.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

// "a, b, c"
std::string join(std::span<const std::string> words);

// Text for a message: control characters and bytes outside ASCII become "?", and it is cut at 80.
std::string printable(std::string_view text);

}  // namespace policies
