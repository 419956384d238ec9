// The same verdicts for the texts that are nearly all of them: plain numbers, + - * / and brackets
// on one line. It says nothing about anything else. Pure; no allocation; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace runner::arithmetic {

// Room for the repr of any float or 64-bit int.
inline constexpr std::size_t kPlainSize = 40;

struct PlainVerdict {
  enum Kind : std::uint8_t {
    kUnknown,  // the parser has to look at it: the full grammar, a big int, a note
    kValue,
    kTooDeep,
    kDivision,
    kFloatDivision,  // by zero, both of them
  };
  Kind kind;
  char* end;  // of the value's repr, where there is a value
};

// Writes the repr of the text's value to `out`. The text has been stripped; where its verdict is
// known it holds digits, `.`, operators, brackets and blanks only.
PlainVerdict evaluate_plain(std::string_view text, char* out);

}  // namespace runner::arithmetic
