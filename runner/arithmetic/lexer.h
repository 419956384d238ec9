// From text to tokens, as Python 3.11's tokenizer does it for one expression: numbers, names,
// strings, operators, joined lines, comments, blank lines and indentation.
// Pure; no allocation; any thread.
#pragma once

#include <string_view>

#include "runner/arithmetic/token.h"

namespace runner::arithmetic {

// Fills `out`, ending in kEnd. `text` has at most 200 code points (two more inside an f-string),
// no NUL, and line feeds only: carriage returns have been translated. Returns what is wrong with
// the first bad token; the failure is false when every token is good.
Failure lex(std::string_view text, TokenBuffer& out);

// The kind of a keyword; kName for any other name. `name` is ASCII and not empty.
Tok keyword_or_name(std::string_view name);

// The length of a number literal at the start of `text`, its kind, or what is wrong with it.
struct NumberScan {
  Tok kind = Tok::kInteger;
  std::size_t length = 0;
  Failure failure;
};
NumberScan scan_number(std::string_view text, std::size_t at);

}  // namespace runner::arithmetic
