// f-strings as Python 3.11 reads them: the literal is cut out first, then its inside is scanned by
// rules of its own, and each expression goes through the parser once more, in parentheses.
#include <array>

#include "runner/arithmetic/parser.h"
#include "runner/arithmetic/string_literal.h"

namespace runner::arithmetic {
namespace {

constexpr std::size_t kMaxNesting = 200;
constexpr int kMaxDepth = 2;  // an expression in a format spec, but none inside that one's spec

constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr bool closes(char opening, char closing) {
  return (opening == '(' && closing == ')') || (opening == '[' && closing == ']') ||
         (opening == '{' && closing == '}');
}

// Walks over the expression between braces up to the character that ends it.
class ExpressionScan {
 public:
  ExpressionScan(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  Failure run() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\') return {"f-string: an expression can't hold a backslash", 0};
      if (quote_ != '\0') {
        inside_string(c);
      } else if (c == '"' || c == '\'') {
        open_string(c);
      } else if (c == '(' || c == '[' || c == '{') {
        if (depth_ >= kMaxNesting) return {"f-string: too many nested brackets", 0};
        opened_[depth_++] = c;
      } else if (c == '#') {
        return {"f-string: an expression can't hold a '#'", 0};
      } else if (depth_ == 0 && may_end(c)) {
        if (!is_comparison(c)) break;
      } else if (c == ')' || c == ']' || c == '}') {
        if (depth_ == 0) return {"f-string: a closing bracket has no opening one", 0};
        if (!closes(opened_[--depth_], c))
          return {"f-string: a closing bracket does not match its opening one", 0};
      }
    }
    if (quote_ != '\0') return {"f-string: a string was never closed", 0};
    if (depth_ != 0) return {"f-string: a bracket was never closed", 0};
    return {};
  }

  std::size_t end() const { return at_; }

 private:
  char peek(std::size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void open_string(char c) {
    quote_ = c;
    triple_ = peek(1) == c && peek(2) == c;
    if (triple_) at_ += 2;
  }

  void inside_string(char c) {
    if (c != quote_) return;
    if (triple_) {
      if (peek(1) != c || peek(2) != c) return;
      at_ += 2;
    }
    quote_ = '\0';
  }

  static bool may_end(char c) {
    return c == '!' || c == ':' || c == '}' || c == '=' || c == '<' || c == '>';
  }

  // != == <= >= (stepped over as a pair), and < and > by themselves, do not end an expression.
  bool is_comparison(char c) {
    if (c != ':' && c != '}' && peek(1) == '=') {
      ++at_;
      return true;
    }
    return c == '<' || c == '>';
  }

  std::string_view text_;
  std::size_t at_;
  std::size_t depth_ = 0;
  char quote_ = '\0';
  bool triple_ = false;
  std::array<char, kMaxNesting> opened_;
};

Failure check_expression(std::string_view expression) {
  if (expression.find_first_not_of(" \t\n\f") == std::string_view::npos)
    return {"f-string: empty expression", 0};
  return parse_fstring_expression(expression);
}

class FormatScan {
 public:
  FormatScan(std::string_view text, Escapes escapes) : text_(text), escapes_(escapes) {}

  Failure run() {
    if (const Failure failure = pieces(0)) return failure;
    return at_ < text_.size() ? Failure{"f-string: unexpected end", 0} : Failure{};
  }

 private:
  static constexpr Failure kNoBrace{"f-string: expecting '}'", 0};

  bool at_end() const { return at_ >= text_.size(); }

  // Literals and expressions in turn, to the end of the text or of this format spec.
  Failure pieces(int depth) {
    for (;;) {
      doubled_ = false;
      if (const Failure failure = literal(depth)) return failure;
      if (doubled_) continue;
      if (at_end() || text_[at_] == '}') break;
      if (const Failure failure = expression(depth)) return failure;
    }
    return depth > 0 && at_end() ? kNoBrace : Failure{};
  }

  // Text up to a brace. A doubled brace stands for itself, but not in a format spec.
  Failure literal(int depth) {
    const std::size_t begin = at_;
    std::size_t end = text_.size();
    while (!at_end()) {
      char c = text_[at_++];
      if (c == '\\' && escapes_ == Escapes::kDecoded && !at_end()) {
        c = text_[at_++];
        if (c == 'N') {
          skip_name();
          continue;
        }
      }
      if (c != '{' && c != '}') continue;
      if (depth == 0 && !at_end() && text_[at_] == c) {
        end = at_++;
        doubled_ = true;
      } else {
        if (depth == 0 && c == '}') return {"f-string: a single '}' can't stand here", 0};
        end = --at_;
      }
      break;
    }
    if (escapes_ == Escapes::kRaw) return {};
    return check_text_escapes(text_.substr(begin, end - begin));
  }

  // After \N: a name in braces is no expression.
  void skip_name() {
    if (at_end() || text_[at_++] != '{') return;
    while (!at_end() && text_[at_++] != '}') {
    }
  }

  // '{' expression ['='] ['!' conversion] [':' spec] '}'
  Failure expression(int depth) {
    if (depth >= kMaxDepth) return {"f-string: expressions nested too deeply", 0};
    ExpressionScan scan(text_, at_ + 1);
    if (const Failure failure = scan.run()) return failure;
    if (scan.end() >= text_.size()) return kNoBrace;
    if (const Failure failure = check_expression(text_.substr(at_ + 1, scan.end() - at_ - 1)))
      return failure;
    at_ = scan.end();
    if (text_[at_] == '=') {
      ++at_;
      while (!at_end() && is_space(text_[at_])) ++at_;
    }
    if (const Failure failure = conversion()) return failure;
    if (!at_end() && text_[at_] == ':') {
      ++at_;
      if (const Failure failure = pieces(depth + 1)) return failure;
    }
    if (at_end() || text_[at_] != '}') return kNoBrace;
    ++at_;
    return {};
  }

  Failure conversion() {
    if (at_end() || text_[at_] != '!') return {};
    ++at_;
    if (at_end() || (text_[at_] != 's' && text_[at_] != 'r' && text_[at_] != 'a'))
      return {"f-string: a conversion is one of !s, !r and !a", 0};
    ++at_;
    return {};
  }

  std::string_view text_;
  Escapes escapes_;
  std::size_t at_ = 0;
  bool doubled_ = false;  // the literal just read ended in a brace that stands for itself
};

}  // namespace

Failure check_fstring(std::string_view inside, Escapes escapes) {
  return FormatScan(inside, escapes).run();
}

}  // namespace runner::arithmetic
