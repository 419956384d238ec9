#include "runner/arithmetic/sources.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "runner/arithmetic/lexer.h"
#include "runner/arithmetic/number.h"
#include "runner/arithmetic/text.h"

namespace runner::arithmetic {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// digits * ten to the exponent, without zeros at either end: equal numbers are equal here.
struct Decimal {
  std::string digits;
  std::int64_t exponent = 0;
  bool operator==(const Decimal&) const = default;
};

Decimal normalized_decimal(std::string digits, std::int64_t exponent) {
  const std::size_t first = digits.find_first_not_of('0');
  if (first == std::string::npos) return {};
  digits.erase(0, first);
  while (digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  return {std::move(digits), exponent};
}

// Of digits, underscores or commas, a point and an exponent.
Decimal decimal_from(std::string_view spelled) {
  std::string digits;
  std::int64_t exponent = 0;
  bool fraction = false;
  for (std::size_t at = 0; at < spelled.size(); ++at) {
    const char c = spelled[at];
    if (is_digit(c)) {
      digits += c;
      if (fraction) --exponent;
    } else if (c == '.') {
      fraction = true;
    } else if (c == 'e' || c == 'E') {
      std::string power(spelled.substr(at + 1));
      std::erase(power, '_');
      const char* const begin = power.data() + (power.starts_with('+') ? 1 : 0);
      std::int64_t size = 0;
      const auto end = std::from_chars(begin, power.data() + power.size(), size);
      static constexpr std::int64_t kFar = 1'000'000'000'000;
      if (end.ec != std::errc{}) size = power.starts_with('-') ? -kFar : kFar;
      exponent += std::clamp(size, -kFar, kFar);
      break;
    }
  }
  return normalized_decimal(std::move(digits), exponent);
}

Decimal decimal_of_token(const Token& token, std::string_view spelled) {
  if (token.kind == Tok::kFloat) return decimal_from(spelled);
  std::string digits;
  append_repr(integer_from_literal(spelled), digits);
  return normalized_decimal(std::move(digits), 0);
}

// Cuts numbers out of prose.
class NumberFinder {
 public:
  explicit NumberFinder(std::string_view text) : text_(text) {}

  // The next number, or false at the end.
  bool next(Decimal& found) {
    while (at_ < text_.size()) {
      const std::size_t begin = at_;
      if (!starts_number()) {
        ++at_;
        continue;
      }
      const bool in_word = belongs_to_word(begin);
      const std::size_t end = number_end();
      at_ = end;
      if (dotted_on()) {  // 1.2.3: a version or a section
        while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
        continue;
      }
      if (in_word) continue;
      found = decimal_from(text_.substr(begin, end - begin));
      return true;
    }
    return false;
  }

 private:
  char peek(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

  bool starts_number() const {
    return is_digit(peek(at_)) || (peek(at_) == '.' && is_digit(peek(at_ + 1)));
  }

  // Right after a letter, or after a letter and a hyphen: a name such as H2 or DW-300.
  bool belongs_to_word(std::size_t at) const {
    if (at == 0) return false;
    if (is_letter(text_[at - 1])) return !is_symbol_before(at);
    return at >= 2 && text_[at - 1] == '-' && is_letter(text_[at - 2]) && !is_symbol_before(at - 1);
  }

  // A currency sign, a quotation mark or a dash beyond ASCII is no letter.
  bool is_symbol_before(std::size_t at) const {
    if (static_cast<unsigned char>(text_[at - 1]) < 0x80) return false;
    std::size_t start = at - 1;
    while (start > 0 && (static_cast<unsigned char>(text_[start]) & 0xC0U) == 0x80) --start;
    return !is_identifier(concat({"a", text_.substr(start, at - start)}));
  }

  std::size_t digits_end(std::size_t at) const {
    while (is_digit(peek(at))) ++at;
    return at;
  }

  // Groups of three after one to three digits: 1,234,567.
  std::size_t grouped_end(std::size_t begin) const {
    std::size_t end = digits_end(begin);
    if (end - begin > 3 || end == begin) return end;
    while (peek(end) == ',' && digits_end(end + 1) == end + 4) end += 4;
    return end;
  }

  std::size_t number_end() const {
    std::size_t end = grouped_end(at_);
    if (peek(end) == '.' && is_digit(peek(end + 1))) end = digits_end(end + 1);
    if ((peek(end) | 0x20) == 'e') {
      std::size_t power = end + 1;
      if (peek(power) == '+' || peek(power) == '-') ++power;
      const std::size_t after = digits_end(power);
      if (after != power && !is_letter(peek(after))) end = after;
    }
    return end;
  }

  bool dotted_on() const { return peek(at_) == '.' && is_digit(peek(at_ + 1)); }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::vector<Decimal> numbers_in(std::string_view text) {
  std::vector<Decimal> found;
  NumberFinder finder(text);
  for (Decimal number; finder.next(number);) found.push_back(std::move(number));
  return found;
}

bool already_has(const SourceReport& report, std::string_view spelled) {
  return std::any_of(report.numbers.begin(), report.numbers.end(),
                     [&](const NumberReport& known) { return known.number == spelled; });
}

void append_list(const std::vector<std::string>& texts, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    out += i == 0 ? "\"" : ", \"";
    append_json_escaped(texts[i], out);
    out += '"';
  }
  out += ']';
}

}  // namespace

SourceReport check_sources(std::string_view expression, const std::vector<Source>& sources) {
  SourceReport report;
  std::string text(strip(expression));
  std::replace(text.begin(), text.end(), '\r', '\n');
  TokenBuffer tokens;
  if (survey(text).code_points > kMaxCodePoints || lex(text, tokens)) return report;
  std::vector<std::vector<Decimal>> held;
  held.reserve(sources.size());
  for (const Source& source : sources) held.push_back(numbers_in(source.text));
  for (std::size_t i = 0; i < tokens.count; ++i) {
    const Token& token = tokens.tokens[i];
    if (token.kind != Tok::kInteger && token.kind != Tok::kFloat) continue;
    const std::string spelled = text.substr(token.begin, std::size_t{token.end} - token.begin);
    if (already_has(report, spelled)) continue;
    const Decimal wanted = decimal_of_token(token, spelled);
    NumberReport number{spelled, {}};
    for (std::size_t s = 0; s < sources.size(); ++s)
      if (std::find(held[s].begin(), held[s].end(), wanted) != held[s].end())
        number.cites.push_back(sources[s].cite);
    if (number.cites.empty()) report.unsourced.push_back(spelled);
    report.numbers.push_back(std::move(number));
  }
  return report;
}

std::string to_json(const Verdict& verdict, const SourceReport& report) {
  std::string out = to_json(verdict);
  out.pop_back();
  out += ", \"numbers\": [";
  for (std::size_t i = 0; i < report.numbers.size(); ++i) {
    out += i == 0 ? "{\"number\": \"" : ", {\"number\": \"";
    append_json_escaped(report.numbers[i].number, out);
    out += "\", \"cites\": ";
    append_list(report.numbers[i].cites, out);
    out += '}';
  }
  out += "], \"unsourced\": ";
  append_list(report.unsourced, out);
  return out += '}';
}

}  // namespace runner::arithmetic
