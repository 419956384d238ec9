#include "runner/arithmetic/lexer.h"

#include <algorithm>
#include <array>

#include "runner/arithmetic/text.h"

namespace runner::arithmetic {
namespace {

constexpr std::size_t kMaxNesting = 200;  // CPython's tokenizer counts as far

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

constexpr std::array<bool, 256> make_name_parts() {
  std::array<bool, 256> parts{};
  for (unsigned code = 0; code < parts.size(); ++code) {
    const char c = static_cast<char>(static_cast<unsigned char>(code));
    parts[code] = is_name_start(c) || is_digit(c);
  }
  return parts;
}
constexpr std::array<bool, 256> kNameParts = make_name_parts();

struct Operator {
  Tok kind;
  std::size_t length;
};

// The operator of one character; kEnd for a character that is none.
constexpr Tok single(char c) {
  switch (c) {
    case '(':
      return Tok::kOpenParen;
    case ')':
      return Tok::kCloseParen;
    case '[':
      return Tok::kOpenBracket;
    case ']':
      return Tok::kCloseBracket;
    case '{':
      return Tok::kOpenBrace;
    case '}':
      return Tok::kCloseBrace;
    case ',':
      return Tok::kComma;
    case ':':
      return Tok::kColon;
    case '.':
      return Tok::kDot;
    case '=':
      return Tok::kAssign;
    case '<':
      return Tok::kLess;
    case '>':
      return Tok::kGreater;
    case '+':
      return Tok::kPlus;
    case '-':
      return Tok::kMinus;
    case '*':
      return Tok::kStar;
    case '/':
      return Tok::kSlash;
    case '%':
      return Tok::kPercent;
    case '@':
      return Tok::kAt;
    case '~':
      return Tok::kTilde;
    case '&':
      return Tok::kAmpersand;
    case '|':
      return Tok::kPipe;
    case '^':
      return Tok::kCaret;
    default:
      return Tok::kEnd;
  }
}

// What a character becomes when it stands twice.
constexpr Tok doubled(char c) {
  switch (c) {
    case '*':
      return Tok::kPower;
    case '/':
      return Tok::kDoubleSlash;
    case '<':
      return Tok::kLeftShift;
    case '>':
      return Tok::kRightShift;
    case '=':
      return Tok::kEqual;
    default:
      return Tok::kEnd;
  }
}

// What a character becomes with `=` behind it.
constexpr Tok with_equals(char c) {
  switch (c) {
    case '<':
      return Tok::kLessEqual;
    case '>':
      return Tok::kGreaterEqual;
    case '!':
      return Tok::kNotEqual;
    case ':':
      return Tok::kWalrus;
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '&':
    case '|':
    case '^':
    case '@':
      return Tok::kOther;
    default:
      return Tok::kEnd;
  }
}

constexpr std::array<Tok, 256> make_singles() {
  std::array<Tok, 256> singles{};
  for (unsigned code = 0; code < singles.size(); ++code)
    singles[code] = single(static_cast<char>(static_cast<unsigned char>(code)));
  return singles;
}
constexpr std::array<Tok, 256> kSingles = make_singles();

// The longest operator that these three characters begin with. `...` is one, `..` is none.
constexpr Operator read_operator(char first, char second, char third) {
  const Tok alone = kSingles[static_cast<unsigned char>(first)];
  if (second != first && second != '=' && second != '>') return {alone, 1};
  if (first == '.' && second == '.' && third == '.') return {Tok::kEllipsis, 3};
  if (first == second && doubled(first) != Tok::kEnd) {
    if (third == '=' && first != '=') return {Tok::kOther, 3};
    return {doubled(first), 2};
  }
  if (second == '=' && with_equals(first) != Tok::kEnd) return {with_equals(first), 2};
  if ((first == '-' || first == '<') && second == '>') return {Tok::kOther, 2};
  return {alone, 1};
}

constexpr bool ends_operand(Tok kind) {
  return kind == Tok::kName || kind == Tok::kInteger || kind == Tok::kFloat ||
         kind == Tok::kImaginary || kind == Tok::kString || kind == Tok::kCloseParen ||
         kind == Tok::kCloseBracket || kind == Tok::kCloseBrace;
}

class Lexer {
 public:
  Lexer(std::string_view text, TokenBuffer& out) : text_(text), out_(out) { out_.count = 0; }

  Failure run() {
    if (!line_start()) return failure_;
    while (step()) {
    }
    return failure_;
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool at_end() const { return at_ >= text_.size(); }

  bool fail(std::string_view text) {
    failure_ = Failure{text, at_};
    return false;
  }

  bool emit(Tok kind, std::size_t length) {
    if (out_.count + 2 > kMaxTokens) return fail("too many tokens");
    out_.tokens[out_.count++] = {kind, static_cast<std::uint16_t>(at_),
                                 static_cast<std::uint16_t>(at_ + length)};
    at_ += length;
    return true;
  }

  // A backslash joins lines only when the line ends right after it, and not at the end of all.
  bool join_line() {
    if (peek(1) != '\n') return fail("unexpected character after a line continuation");
    at_ += 2;
    return !at_end() || fail("the text ends after a line continuation");
  }

  // Indentation counts on every line that holds something, outside brackets. An expression may
  // have none. A tab goes to the next multiple of eight, a form feed back to column 0; where a
  // backslash joins lines here, the column of the first one counts.
  bool line_start() {
    std::size_t column = 0;
    std::size_t joined_column = 0;
    for (;; ++at_) {
      const char c = peek();
      if (c == ' ') {
        ++column;
      } else if (c == '\t') {
        column = (column / 8 + 1) * 8;
      } else if (c == '\f') {
        column = 0;
      } else if (c == '\\') {
        if (joined_column == 0) joined_column = column;
        if (!join_line()) return false;
        --at_;
      } else {
        break;
      }
    }
    blank_line_ = peek() == '#' || peek() == '\n';
    if (blank_line_ || (joined_column == 0 && column == 0)) return true;
    return fail("unexpected indent");
  }

  // One token, or what stands between tokens. False at the end and after a failure.
  bool step() {
    const char c = peek();
    if (at_end()) return finish();
    if (c == ' ' || c == '\t' || c == '\f') {
      ++at_;
      return true;
    }
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return true;
    }
    if (c == '\n') return newline();
    if (c == '\\') return join_line();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (is_name_start(c)) return name_or_string();
    if (c == '"' || c == '\'') return string(0);
    return operator_token();
  }

  bool newline() {
    if (nesting_ > 0) {
      ++at_;
      return true;
    }
    if (blank_line_)
      ++at_;
    else if (!emit(Tok::kNewline, 1))
      return false;
    return line_start();
  }

  bool finish() {
    if (nesting_ > 0) {
      at_ = opened_at_[nesting_ - 1];
      return fail("a bracket was never closed");
    }
    emit(Tok::kEnd, 0);
    return false;
  }

  // A token that is an operand by itself. None follows another one.
  bool emit_operand(Tok kind, std::size_t length) {
    if (out_.count > 0 && ends_operand(out_.tokens[out_.count - 1].kind))
      return fail("invalid syntax; perhaps an operator is missing");
    return emit(kind, length);
  }

  // Most numbers are decimal digits with at most one point, and nothing clings to them.
  bool number() {
    std::size_t length = 0;
    while (is_digit(peek(length))) ++length;
    const bool has_point = peek(length) == '.';
    if (has_point)
      for (++length; is_digit(peek(length));) ++length;
    const bool zeros = peek() == '0' && length > 1 && !has_point;
    if (!zeros && !kNameParts[static_cast<unsigned char>(peek(length))])
      return emit_operand(has_point ? Tok::kFloat : Tok::kInteger, length);
    const NumberScan scan = scan_number(text_, at_);
    if (scan.failure) {
      failure_ = scan.failure;
      return false;
    }
    return emit_operand(scan.kind, scan.length);
  }

  // A run of letters that can prefix a string, in the combinations Python allows, up to a quote.
  std::size_t string_prefix() const {
    bool bytes = false;
    bool unicode = false;
    bool raw = false;
    bool format = false;
    for (std::size_t length = 0;; ++length) {
      const char c = peek(length);
      if (c == '"' || c == '\'') return length;
      const char lower = static_cast<char>(c | 0x20);
      if (lower == 'b' && !bytes && !unicode && !format)
        bytes = true;
      else if (lower == 'u' && !bytes && !unicode && !raw && !format)
        unicode = true;
      else if (lower == 'r' && !raw && !unicode)
        raw = true;
      else if (lower == 'f' && !format && !bytes && !unicode)
        format = true;
      else
        return kNoPrefix;
    }
  }

  bool name_or_string() {
    std::size_t length = 0;
    unsigned all = 0;
    for (const char c : text_.substr(at_)) {
      const auto code = static_cast<unsigned char>(c);
      if (!kNameParts[code]) break;
      all |= code;
      ++length;
    }
    const char next = peek(length);
    if ((next == '"' || next == '\'') && string_prefix() != kNoPrefix) return string(length);
    const std::string_view name = text_.substr(at_, length);
    if (all >= 0x80) {
      if (!is_identifier(name)) return fail("invalid character");
      return emit_operand(Tok::kName, length);
    }
    const Tok kind = keyword_or_name(name);
    return kind == Tok::kName ? emit_operand(kind, length) : emit(kind, length);
  }

  // A string literal whose quote stands `prefix` bytes ahead. Its inside is looked at later.
  bool string(std::size_t prefix) {
    const char quote = peek(prefix);
    const bool triple = peek(prefix + 1) == quote && peek(prefix + 2) == quote;
    const std::size_t width = triple ? 3 : 1;
    std::size_t length = prefix + width;
    if (!triple && peek(prefix + 1) == quote) return emit(Tok::kString, prefix + 2);
    for (std::size_t run = 0; run < width; ++length) {
      const char c = peek(length);
      if (at_ + length >= text_.size()) return fail("a string was never closed");
      if (c == '\n' && !triple) return fail("a string was never closed");
      run = c == quote ? run + 1 : 0;
      if (c == '\\') ++length;
    }
    return emit(Tok::kString, length);
  }

  bool operator_token() {
    const Operator op = read_operator(peek(), peek(1), peek(2));
    if (op.kind != Tok::kEnd) return bracket(op.kind) && emit(op.kind, op.length);
    return fail("invalid character");
  }

  // Keeps the brackets in balance. True for every other token.
  bool bracket(Tok kind) {
    switch (kind) {
      case Tok::kOpenParen:
      case Tok::kOpenBracket:
      case Tok::kOpenBrace:
        if (nesting_ >= kMaxNesting) return fail("too many nested brackets");
        opened_[nesting_] = kind;
        opened_at_[nesting_] = static_cast<std::uint16_t>(at_);
        ++nesting_;
        return true;
      case Tok::kCloseParen:
        return close_bracket(Tok::kOpenParen);
      case Tok::kCloseBracket:
        return close_bracket(Tok::kOpenBracket);
      case Tok::kCloseBrace:
        return close_bracket(Tok::kOpenBrace);
      default:
        return true;
    }
  }

  bool close_bracket(Tok opening) {
    if (nesting_ == 0) return fail("a closing bracket has no opening one");
    --nesting_;
    return opened_[nesting_] == opening || fail("a closing bracket does not match its opening one");
  }

  static constexpr std::size_t kNoPrefix = static_cast<std::size_t>(-1);

  std::string_view text_;
  TokenBuffer& out_;
  std::size_t at_ = 0;
  std::size_t nesting_ = 0;
  bool blank_line_ = false;
  std::array<Tok, kMaxNesting> opened_;
  std::array<std::uint16_t, kMaxNesting> opened_at_;
  Failure failure_;
};

}  // namespace

Failure lex(std::string_view text, TokenBuffer& out) { return Lexer(text, out).run(); }

}  // namespace runner::arithmetic
