// The restricted mode: one arithmetic expression, evaluated as CPython 3.11 would, and nothing
// else. No interpreter, no process, no file, no clock: the same text always gives the same verdict.
//
// Every function here may be called from any thread; nothing is shared. A verdict costs at most
// about a millisecond, a megabyte of heap and half a megabyte of stack, whatever the text.
// Nothing here throws but std::bad_alloc.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "runner/arithmetic/short_text.h"

namespace runner::arithmetic {

inline constexpr std::size_t kMaxCodePoints = 200;  // of the text, without surrounding whitespace
inline constexpr int kMaxDepth = 32;                // the root is at depth 0
inline constexpr unsigned kMaxIntegerBits = 4096;   // only `**` and `round` can come near

// Grammar beyond + - * /, each part off unless a policy names it.
enum class Operator : std::uint8_t { kModulo, kFloorDivide, kPower };
enum class Function : std::uint8_t { kSqrt, kRound, kAbs, kMin, kMax, kSum };

struct Options {
  std::bitset<3> operators;  // by Operator
  std::bitset<6> functions;  // by Function

  bool allows(Operator op) const { return operators[static_cast<std::size_t>(op)]; }
  bool allows(Function function) const { return functions[static_cast<std::size_t>(function)]; }
};

// From a policy's [arithmetic] table: operators out of % // **, functions out of
// sqrt round abs min max sum. The error is one line that names the first unknown entry.
tl::expected<Options, std::string> make_options(const std::vector<std::string>& operators,
                                                const std::vector<std::string>& functions);

enum class Decision : std::uint8_t {
  kValue,
  kRefused,   // decided by code: the text is not what may be evaluated
  kDeclined,  // decided by the model: it replied NONE, or nothing
};

enum class Refusal : std::uint8_t {
  kLength,      // expression is N characters; the limit is 200
  kSyntax,      // not a valid expression: ...
  kWhitelist,   // Call is not on the arithmetic whitelist
  kDepth,       // expression nests deeper than 32 levels
  kNotFinite,   // result is not a finite number: inf
  kArithmetic,  // division by zero
};
// "length", "syntax", "whitelist", "depth", "not_finite", "arithmetic". Lives for ever.
std::string_view to_string(Refusal refusal);

struct Verdict {
  Decision decision = Decision::kDeclined;
  Refusal refusal = Refusal::kSyntax;  // where refused
  ShortText value;                     // Python's repr of the value; otherwise empty
  ShortText message;                   // where refused: Python's words, but for syntax
  ShortText hint;                      // where refused: how a policy could allow it; often empty
  std::string_view note;               // with a value: what to know about it; lives for ever
};

// `text` is UTF-8. Lone surrogates may come as WTF-8 (three bytes) and stray bytes as themselves;
// either is refused as syntax, as Python refuses a str that it can't encode.
Verdict evaluate(std::string_view text, const Options& options = {});

// {"value": "79.5"} | {"refused": KIND, "message": TEXT} | {"declined": true}, with "hint" and
// "note" where there are any. One line, ASCII only, no line feed.
std::string to_json(const Verdict& verdict);
void append_json(const Verdict& verdict, std::string& out);

// One line of a batch: a JSON string in, one verdict and a line feed appended to `out`. A line that
// is no JSON string gets {"error": TEXT}. `line` may end in "\n" or "\r\n" or neither.
void batch_line(std::string_view line, const Options& options, std::string& out);

}  // namespace runner::arithmetic
