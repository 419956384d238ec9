// Python 3.11's expression grammar by recursive descent. It accepts exactly what
// ast.parse(text, mode="eval") accepts; what compile() would still refuse (await outside a
// function, a keyword given twice) it accepts too, as ast.parse does.
#pragma once

#include <string_view>

#include "runner/arithmetic/ast.h"
#include "runner/arithmetic/token.h"

namespace runner::arithmetic {

// `text`: at most 200 code points, valid UTF-8, no NUL, line feeds only. Fills `tree` and returns
// what is wrong; the tree counts only where the failure is false. Needs up to half a megabyte of
// stack for the deepest nesting that 200 characters can hold. No allocation; any thread.
//
// One exception to agreement: the names in \N{...} are checked for their characters only, since
// Unicode's name table is not here. A string is refused either way.
Failure parse(std::string_view text, Tree& tree);

// Whether the inside of an f-string's braces parses (CPython wraps it in parentheses and so does
// this). Same bounds as parse(). Failures carry no position of use to the outer text.
Failure parse_fstring_expression(std::string_view text);

}  // namespace runner::arithmetic
