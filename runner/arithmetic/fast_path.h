// The same verdicts for the texts that are nearly all of them: plain numbers, + - * / and brackets
// on one line. It says nothing about anything else. Pure; no allocation; any thread.
#pragma once

#include <string_view>

#include "runner/arithmetic/arithmetic.h"

namespace runner::arithmetic {

// True where `verdict` now holds the value. False where the text needs the full grammar, a big int,
// a refusal or a note: then `verdict` is untouched and the parser has to look at the text.
bool evaluate_plain(std::string_view text, Verdict& verdict);

}  // namespace runner::arithmetic
