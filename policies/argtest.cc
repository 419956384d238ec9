#include "policies/argtest.h"

#include <charconv>
#include <optional>

#include "policies/constants.h"
#include "policies/nearest.h"

namespace policies {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::optional<std::uint64_t> number(std::string_view word) {
  const bool hex = word.starts_with("0x");
  if (hex) word.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// Throws Error; `parse_tests` catches it.
class Parser {
 public:
  Parser(std::string_view line, std::span<const std::string> names) : line_(line), names_(names) {
    next();
  }

  std::vector<jail::ArgTest> all() {
    std::vector<jail::ArgTest> tests;
    for (;;) {
      tests.push_back(test());
      for (std::size_t i = 0; i + 1 < tests.size(); ++i)
        if (tests[i].arg == tests.back().arg)
          refuse("an argument is tested twice in one line; write two lines, or one mask");
      if (token_.empty()) return tests;
      if (token_ != "and")
        refuse("expected \"and\" or the end, found \"" + printable(token_) + '"');
      next();
    }
  }

 private:
  jail::ArgTest test() {
    jail::ArgTest t;
    t.arg = argument();
    next();
    const bool masked = token_ == "&";
    if (masked) {
      next();
      t.mask = value();
    }
    t.op = comparison();
    if (masked && t.op != jail::CompareOp::kEqual) refuse("a mask goes with == only");
    next();
    t.value = value();
    if (masked && (t.value & ~t.mask) != 0) refuse("the value has bits outside the mask");
    return t;
  }

  std::uint8_t argument() {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == token_) return static_cast<std::uint8_t>(i);
    refuse("\"" + printable(token_) + "\" is not one of the arguments: " + join(names_));
  }

  jail::CompareOp comparison() {
    if (token_ == "==") return jail::CompareOp::kEqual;
    if (token_ == "<") return jail::CompareOp::kLess;
    if (token_ == "<=") return jail::CompareOp::kLessEqual;
    if (token_ == "!=" || token_ == ">" || token_ == ">=")
      refuse(
          "\"" + token_ +
          "\" is not offered: the kernel ignores the upper half of 32-bit arguments, so it could "
          "be passed by; say what is allowed, with ==, < or <=");
    refuse("expected ==, < or <=, found \"" + printable(token_) + '"');
  }

  std::uint64_t value() {
    if (token_ == "~") {
      next();
      return ~term();
    }
    const bool braced = token_ == "(";
    if (braced) next();
    std::uint64_t all = term();
    while (token_ == "|") {
      next();
      all |= term();
    }
    if (!braced) return all;
    if (token_ != ")") refuse("a \")\" is missing");
    next();
    return all;
  }

  std::uint64_t term() {
    auto v = number(token_);
    if (!v) v = constant(token_);
    if (!v) refuse("\"" + printable(token_) + "\" is neither a number nor a known constant");
    next();
    return *v;
  }

  void next() {
    while (!line_.empty() && line_[0] == ' ') line_.remove_prefix(1);
    std::size_t n = 0;
    while (n < line_.size() && is_word(line_[n])) ++n;
    if (n == 0 && !line_.empty()) {
      const bool two = line_.size() > 1 && line_[1] == '=';
      n = two && std::string_view("=<>!").find(line_[0]) != std::string_view::npos ? 2 : 1;
    }
    token_ = line_.substr(0, n);
    line_.remove_prefix(n);
  }

  [[noreturn]] static void refuse(std::string what) { throw Error{std::move(what)}; }

  std::string_view line_;
  std::span<const std::string> names_;
  std::string token_;
};

}  // namespace

Result<std::vector<jail::ArgTest>> parse_tests(std::string_view line,
                                               std::span<const std::string> names) {
  try {
    return Parser(line, names).all();
  } catch (Error& e) {
    return tl::unexpected<Error>(std::move(e));
  }
}

}  // namespace policies
