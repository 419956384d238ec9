// The tokens of Python 3.11's expression grammar, in buffers of fixed size: a text has at most 200
// code points, so it has at most that many tokens, and nothing here allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace runner::arithmetic {

enum class Tok : std::uint8_t {
  kEnd,
  kNewline,
  kName,
  kInteger,
  kFloat,
  kImaginary,
  kString,
  // keywords
  kAnd,
  kAsync,
  kAwait,
  kElse,
  kFalse,
  kFor,
  kFrom,
  kIf,
  kIn,
  kIs,
  kLambda,
  kNone,
  kNot,
  kOr,
  kTrue,
  kYield,
  kReserved,  // a keyword no expression holds
  // punctuation
  kOpenParen,
  kCloseParen,
  kOpenBracket,
  kCloseBracket,
  kOpenBrace,
  kCloseBrace,
  kComma,
  kColon,
  kDot,
  kEllipsis,
  kAssign,  // =
  kWalrus,  // :=
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kPlus,
  kMinus,
  kStar,
  kSlash,
  kDoubleSlash,
  kPercent,
  kAt,
  kPower,
  kTilde,
  kAmpersand,
  kPipe,
  kCaret,
  kLeftShift,
  kRightShift,
  kOther,  // a token that no expression holds: `;` `->` `+=` `<>` `$` ...
};

// Byte offsets into the text the token came from.
struct Token {
  Tok kind;
  std::uint16_t begin;
  std::uint16_t end;
};

// 200 code points, two parentheses around an f-string's expression, a newline, the end.
inline constexpr std::size_t kMaxTokens = 208;

struct TokenBuffer {
  std::array<Token, kMaxTokens> tokens;
  std::size_t count = 0;
};

// What is wrong and where (a byte offset). `text` points to a literal: it lives for ever.
struct Failure {
  std::string_view text;
  std::size_t at = 0;
  constexpr explicit operator bool() const { return !text.empty(); }
};

}  // namespace runner::arithmetic
