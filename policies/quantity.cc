#include "policies/quantity.h"

#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

namespace policies {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::uint64_t kKi = 1024;
constexpr std::array kSizes{
    Unit{"T", kKi* kKi* kKi* kKi},
    Unit{"G", kKi* kKi* kKi},
    Unit{"M", kKi* kKi},
    Unit{"K", kKi},
    Unit{"B", 1},
};
constexpr std::array kTimes{
    Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000}, Unit{"ms", 1},
};
constexpr std::uint64_t kMaxSize = 16 * kKi * kKi * kKi * kKi;
constexpr std::uint64_t kMaxTime = 366 * std::uint64_t{86'400'000};
constexpr std::uint64_t kMaxCount = 1'000'000'000;

// What a message quotes of an input: short, and printable whatever the input was.
std::string quote(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string shown = "\"";
  for (const char c : text.substr(0, kShown)) shown += c >= ' ' && c <= '~' && c != '"' ? c : '?';
  return shown + (text.size() > kShown ? "...\"" : "\"");
}

struct Split {
  std::string_view digits;
  std::string_view unit;
};

Split split(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
  return {text.substr(0, n), text.substr(n)};
}

// nullopt: more than 2^64-1.
std::optional<std::uint64_t> to_number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

struct Kind {
  std::string_view what;     // "size"
  std::string_view example;  // "\"512M\""
  std::string_view units;    // "K, M, G or T"
  std::string_view limit;    // "16T"
  std::uint64_t max;
};

constexpr Kind kSize{"size", "\"512M\"", "K, M, G or T (powers of 1024)", "16T", kMaxSize};
constexpr Kind kTime{"duration", "\"30s\"", "ms, s, m, h or d", "366d", kMaxTime};

Result<std::uint64_t> parse(std::string_view text, const Kind& kind, std::span<const Unit> units,
                            std::string_view unit_name, std::string_view digits) {
  const std::string what(kind.what);
  const std::string like = "; write e.g. " + std::string(kind.example);
  if (text.empty()) return fail("the " + what + " is empty" + like);
  if (text[0] == '-') return fail(quote(text) + " is negative" + like);
  if (digits.empty()) return fail(quote(text) + " does not start with a whole number" + like);
  if (unit_name.empty())
    return fail(quote(text) + " has no unit" + like + ", units are " + std::string(kind.units));
  if (unit_name[0] == '.' || unit_name[0] == ',')
    return fail(quote(text) + " is not a whole number; take a smaller unit" + like);
  std::uint64_t factor = 0;
  for (const Unit& u : units)
    if (u.name == unit_name) factor = u.factor;
  if (factor == 0)
    return fail(quote(text) + " has an unknown unit; units are " + std::string(kind.units));
  const auto number = to_number(digits);
  if (number == std::uint64_t{0})
    return fail(quote(text) + " is zero; a " + what + " is at least 1" + like);
  if (!number || *number > kind.max / factor)
    return fail(quote(text) + " is too large; the most is \"" + std::string(kind.limit) + '"');
  return *number * factor;
}

// "MiB" and "MB" are "M": a policy is not the place to argue about powers of 1000.
std::string_view plain_unit(std::string_view unit) {
  if (unit.size() == 3 && unit.ends_with("iB")) return unit.substr(0, 1);
  if (unit.size() == 2 && unit.ends_with("B") && unit[0] != 'i') return unit.substr(0, 1);
  return unit;
}

std::string print(std::uint64_t value, std::span<const Unit> units) {
  for (const Unit& u : units)
    if (value != 0 && value % u.factor == 0)
      return std::to_string(value / u.factor) + std::string(u.name);
  return "0" + std::string(units.back().name);
}

}  // namespace

Result<jail::Bytes> parse_size(std::string_view text) {
  const Split s = split(text);
  return parse(text, kSize, kSizes, plain_unit(s.unit), s.digits).map([](std::uint64_t v) {
    return jail::Bytes{v};
  });
}

Result<jail::Millis> parse_duration(std::string_view text) {
  const Split s = split(text);
  return parse(text, kTime, kTimes, s.unit, s.digits).map([](std::uint64_t v) {
    return jail::Millis(static_cast<jail::Millis::rep>(v));
  });
}

Result<std::uint64_t> parse_count(std::string_view text) {
  const Split s = split(text);
  if (s.digits.empty() || !s.unit.empty())
    return fail(quote(text) + " is not a plain whole number; write e.g. 64");
  const auto number = to_number(s.digits);
  if (number == std::uint64_t{0}) return fail("0 is too small; the least is 1");
  if (!number || *number > kMaxCount)
    return fail(quote(text) + " is too large; the most is " + std::to_string(kMaxCount));
  return *number;
}

std::string print_size(jail::Bytes size) { return print(size.value, kSizes); }

std::string print_duration(jail::Millis duration) {
  return print(static_cast<std::uint64_t>(duration.count()), kTimes);
}

}  // namespace policies
