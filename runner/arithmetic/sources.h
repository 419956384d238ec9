// Which source holds which number. A safe expression can still use the wrong numbers: this says
// where each one comes from. Pure; any thread.
//
// Numbers are compared as decimals, exactly: 38.50 is 38.5, `1,234` is 1234, 1e3 is 1000. In a
// source, a number is a run of digits with optional thousands commas, decimals and exponent,
// wherever it does not belong to a word: `$1,234.50`, `42-minute`, `14%` and `130W` count;
// the 300 of `DW-300`, the 2 of `H2` and the parts of `1.2.3` do not.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "runner/arithmetic/arithmetic.h"

namespace runner::arithmetic {

struct Source {
  std::string cite;  // what to call it, e.g. "[1]"
  std::string text;  // UTF-8
};

struct NumberReport {
  std::string number;              // as the expression spells it
  std::vector<std::string> cites;  // of the sources that hold it, in their order
};

struct SourceReport {
  std::vector<NumberReport> numbers;   // each spelling once, in the order of the expression
  std::vector<std::string> unsourced;  // those that no source holds
};

// Empty where the expression has no numbers, or is no sequence of Python tokens at all.
SourceReport check_sources(std::string_view expression, const std::vector<Source>& sources);

// [{"cite": TEXT, "text": TEXT}, ...]. The error is one line with the byte it stands at.
tl::expected<std::vector<Source>, std::string> sources_from_json(std::string_view json);

// The verdict with two more members: "numbers": [{"number": TEXT, "cites": [TEXT, ...]}, ...] and
// "unsourced": [TEXT, ...].
std::string to_json(const Verdict& verdict, const SourceReport& report);

}  // namespace runner::arithmetic
