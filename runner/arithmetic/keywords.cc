// Python 3.11's keywords.
#include <array>
#include <cstdint>
#include <utility>

#include "runner/arithmetic/lexer.h"

namespace runner::arithmetic {
namespace {

constexpr std::array<std::pair<std::string_view, Tok>, 35> kKeywords{{
    {"False", Tok::kFalse},
    {"None", Tok::kNone},
    {"True", Tok::kTrue},
    {"and", Tok::kAnd},
    {"as", Tok::kReserved},
    {"assert", Tok::kReserved},
    {"async", Tok::kAsync},
    {"await", Tok::kAwait},
    {"break", Tok::kReserved},
    {"class", Tok::kReserved},
    {"continue", Tok::kReserved},
    {"def", Tok::kReserved},
    {"del", Tok::kReserved},
    {"elif", Tok::kReserved},
    {"else", Tok::kElse},
    {"except", Tok::kReserved},
    {"finally", Tok::kReserved},
    {"for", Tok::kFor},
    {"from", Tok::kFrom},
    {"global", Tok::kReserved},
    {"if", Tok::kIf},
    {"import", Tok::kReserved},
    {"in", Tok::kIn},
    {"is", Tok::kIs},
    {"lambda", Tok::kLambda},
    {"nonlocal", Tok::kReserved},
    {"not", Tok::kNot},
    {"or", Tok::kOr},
    {"pass", Tok::kReserved},
    {"raise", Tok::kReserved},
    {"return", Tok::kReserved},
    {"try", Tok::kReserved},
    {"while", Tok::kReserved},
    {"with", Tok::kReserved},
    {"yield", Tok::kYield},
}};

constexpr std::array<std::uint8_t, 128> make_first_keywords() {
  std::array<std::uint8_t, 128> first{};
  first.fill(static_cast<std::uint8_t>(kKeywords.size()));
  for (std::size_t i = kKeywords.size(); i-- > 0;)
    first[static_cast<unsigned char>(kKeywords[i].first[0])] = static_cast<std::uint8_t>(i);
  return first;
}
constexpr std::array<std::uint8_t, 128> kFirstKeyword =
    make_first_keywords();  // by its first letter

}  // namespace

Tok keyword_or_name(std::string_view name) {
  constexpr std::size_t kShortest = 2;
  constexpr std::size_t kLongest = 8;
  if (name.size() < kShortest || name.size() > kLongest) return Tok::kName;
  const char initial = name[0];
  for (std::size_t i = kFirstKeyword[static_cast<unsigned char>(initial)];
       i < kKeywords.size() && kKeywords[i].first[0] == initial; ++i)
    if (kKeywords[i].first == name) return kKeywords[i].second;
  return Tok::kName;
}

}  // namespace runner::arithmetic
