#include "runner/text.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace runner {
namespace {

// RFC 4648 section 4.
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 255;
constexpr std::array<std::uint8_t, 256> kBase64Digits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (std::size_t i = 0; i < kBase64.size(); ++i)
    digits.at(static_cast<unsigned char>(kBase64[i])) = static_cast<std::uint8_t>(i);
  return digits;
}();

unsigned byte_at(std::string_view s, std::size_t i) { return static_cast<unsigned char>(s[i]); }

struct Lead {
  std::size_t length = 0;  // 0: not a lead byte
  unsigned low = 0x80;     // range of the second byte: excludes overlong forms and surrogates
  unsigned high = 0xBF;
};

// Unicode 15.0, table 3-7: well-formed UTF-8 byte sequences.
Lead lead_of(unsigned byte) {
  if (byte < 0x80) return {1};
  if (byte >= 0xC2 && byte <= 0xDF) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

// Length of the character at `i`, 0 if ill-formed.
std::size_t character_at(std::string_view s, std::size_t i) {
  const Lead lead = lead_of(byte_at(s, i));
  if (lead.length == 0 || s.size() - i < lead.length) return 0;
  for (std::size_t k = 1; k < lead.length; ++k) {
    const unsigned next = byte_at(s, i + k);
    if (next < (k == 1 ? lead.low : 0x80) || next > (k == 1 ? lead.high : 0xBF)) return 0;
  }
  return lead.length;
}

std::uint32_t decode(std::string_view character) {
  const unsigned first = byte_at(character, 0);
  if (character.size() == 1) return first;
  std::uint32_t code = first & (0x7FU >> character.size());
  for (std::size_t k = 1; k < character.size(); ++k) {
    code = (code << 6U) | (byte_at(character, k) & 0x3FU);
  }
  return code;
}

// Controls, characters that change the order or place of other text (UAX #9, TR #36), and what is
// none at all (U+FFFE and the like, which XML has no place for).
bool misleads(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x61C ||
         (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code & 0xFFFEU) == 0xFFFE;
}

void append_escape(std::string& out, std::uint32_t code) {
  if (code == '\n') {
    out += "\\n";
  } else if (code == '\t') {
    out += "\\t";
  } else {
    std::array<char, 12> buffer{};
    std::snprintf(buffer.data(), buffer.size(), code < 0x80 ? "\\x%02x" : "\\u%04x", code);
    out += buffer.data();
  }
}

std::string one_decimal(double value, const char* unit) {
  std::array<char, 40> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.1f", value);
  std::string text = buffer.data();
  if (text.size() > 2 && text.ends_with(".0")) text.resize(text.size() - 2);
  return text + unit;
}

}  // namespace

std::size_t utf8_prefix(std::string_view bytes) noexcept {
  std::size_t i = 0;
  while (i < bytes.size()) {
    if (byte_at(bytes, i) < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = character_at(bytes, i);
    if (length == 0) break;
    i += length;
  }
  return i;
}

std::string to_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t good = utf8_prefix(bytes);
    out.append(bytes.substr(0, good));
    bytes.remove_prefix(good);
    if (bytes.empty()) break;
    out += "\xEF\xBF\xBD";
    bytes.remove_prefix(1);
  }
  return out;
}

std::string_view without_partial_character(std::string_view bytes) noexcept {
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const std::size_t at = bytes.size() - back;
    if ((byte_at(bytes, at) & 0xC0U) == 0x80U) continue;
    return lead_of(byte_at(bytes, at)).length > back ? bytes.substr(0, at) : bytes;
  }
  return bytes;
}

std::string printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = character_at(bytes, i);
    if (length == 0) {
      std::array<char, 8> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "\\x%02x", byte_at(bytes, i));
      out += buffer.data();
      ++i;
      continue;
    }
    const std::string_view character = bytes.substr(i, length);
    const std::uint32_t code = decode(character);
    if (code == '\\') {
      out += "\\\\";
    } else if (misleads(code)) {
      append_escape(out, code);
    } else {
      out += character;
    }
    i += length;
  }
  return out;
}

std::string hex_text(std::span<const std::uint8_t> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xfU];
  }
  return text;
}

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const unsigned word = (byte_at(bytes, i) << 16U) |
                          (left > 1 ? byte_at(bytes, i + 1) << 8U : 0U) |
                          (left > 2 ? byte_at(bytes, i + 2) : 0U);
    out += kBase64[(word >> 18U) & 63U];
    out += kBase64[(word >> 12U) & 63U];
    out += left > 1 ? kBase64[(word >> 6U) & 63U] : '=';
    out += left > 2 ? kBase64[word & 63U] : '=';
  }
  return out;
}

std::optional<std::string> bytes_from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string out(text.size() / 4 * 3, '\0');
  std::size_t at = 0;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::size_t digits = 4 - (i + 4 == text.size() ? padding : 0);
    unsigned word = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const unsigned digit =
          j < digits ? kBase64Digits[static_cast<unsigned char>(text[i + j])] : 0;
      if (digit == kNoDigit) return std::nullopt;
      word = (word << 6U) | digit;
    }
    out[at++] = static_cast<char>((word >> 16U) & 0xFFU);
    out[at++] = static_cast<char>((word >> 8U) & 0xFFU);
    out[at++] = static_cast<char>(word & 0xFFU);
  }
  out.resize(out.size() - padding);
  return out;
}

std::string size_text(jail::Bytes size) {
  static constexpr std::array<const char*, 5> kUnits = {"K", "M", "G", "T", "P"};
  if (size.value < 1024) return std::to_string(size.value) + " bytes";
  auto value = static_cast<double>(size.value) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return one_decimal(value, kUnits.at(unit));
}

std::string duration_text(jail::Millis duration) {
  const auto ms = duration.count();
  constexpr long kSecond = 1000;
  constexpr long kMinute = 60 * kSecond;
  constexpr long kHour = 60 * kMinute;
  if (ms != 0 && ms % kHour == 0) return std::to_string(ms / kHour) + "h";
  if (ms != 0 && ms % kMinute == 0) return std::to_string(ms / kMinute) + "m";
  if (ms < kSecond) return std::to_string(ms) + "ms";
  return one_decimal(static_cast<double>(ms) / kSecond, "s");
}

}  // namespace runner
