// The same verdicts for the texts that are nearly all of them: plain numbers, + - * / and brackets
// on one line. It says nothing about anything else. Pure; no allocation; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace runner::arithmetic {

// Room for the repr of any float or 64-bit int.
inline constexpr std::size_t kPlainSize = 40;

// Writes the repr of the text's value and returns its end. Null where the text needs the full
// grammar, a big int, a refusal or a note: then the parser has to look at it. The text has been
// stripped; where this succeeds it holds digits, `.`, `e`, operators, brackets and blanks only.
char* evaluate_plain(std::string_view text, char* out);

}  // namespace runner::arithmetic
