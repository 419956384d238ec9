#include "runner/http/file_names.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "runner/http/target.h"
#include "runner/text.h"

namespace runner::http {
namespace {

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// RFC 9110 section 5.6.2.
bool is_token(char c) {
  return is_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

void skip_blanks(std::string_view& text) {
  const std::size_t from = text.find_first_not_of(" \t");
  text.remove_prefix(std::min(from, text.size()));
}

std::string take_token(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_token);
  std::string token(text.begin(), end);
  text.remove_prefix(token.size());
  return token;
}

// Browsers do not escape a backslash in a name, though RFC 9110 would have them do so; so only
// `\"` and `\\` are escapes.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string out;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return out;
    }
    const bool escapes =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\');
    if (escapes) ++i;
    out += text[i];
  }
  return std::nullopt;
}

// RFC 8187: UTF-8'language'percent-encoded.
std::optional<std::string> extended_value(std::string_view text) {
  const std::size_t first = text.find('\'');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = text.find('\'', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  std::string charset(text.substr(0, first));
  std::transform(charset.begin(), charset.end(), charset.begin(), lower);
  if (charset != "utf-8") return std::nullopt;
  return percent_decoded(text.substr(second + 1));
}

bool take_parameter(std::string_view& text, HeaderValue& result) {
  std::string name = take_token(text);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  if (name.empty() || !text.starts_with('=')) return false;
  text.remove_prefix(1);
  const bool is_quoted = text.starts_with('"');
  const auto value = is_quoted ? take_quoted(text) : take_token(text);
  return value && (is_quoted || !value->empty()) && result.parameters.emplace(name, *value).second;
}

}  // namespace

std::optional<HeaderValue> parse_header_value(std::string_view text) {
  HeaderValue result;
  skip_blanks(text);
  while (!text.empty() && (is_token(text[0]) || text[0] == '/')) {
    result.value += lower(text[0]);
    text.remove_prefix(1);
  }
  if (result.value.empty()) return std::nullopt;
  for (skip_blanks(text); !text.empty(); skip_blanks(text)) {
    if (!text.starts_with(';')) return std::nullopt;
    text.remove_prefix(1);
    skip_blanks(text);
    if (text.empty()) break;
    if (!take_parameter(text, result)) return std::nullopt;
  }
  if (const auto found = result.parameters.find("filename*"); found != result.parameters.end()) {
    const auto name = extended_value(found->second);
    if (!name) return std::nullopt;
    result.parameters["filename"] = *name;
  }
  return result;
}

std::string form_name_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view three = text.substr(i, 3);
    const bool is_code =
        three == "%22" || three == "%0D" || three == "%0d" || three == "%0A" || three == "%0a";
    out += is_code ? percent_decoded(three)->front() : text[i];
    if (is_code) i += 2;
  }
  return out;
}

std::string attachment(std::string_view name) {
  const std::string text = to_utf8(name);
  std::string plain;
  std::string coded;
  bool exact = true;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // "%" would make some clients decode; quotes and backslashes are escaped differently by many.
    const bool fits = byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\' && c != '%';
    if (fits || (byte & 0xC0U) != 0x80U) plain += fits ? c : '_';
    exact = exact && fits;
    // RFC 8187 section 3.2.1: attr-char.
    if (is_alnum(c) || std::string_view("!#$&+-.^_`|~").find(c) != std::string_view::npos) {
      coded += c;
    } else {
      std::array<char, 4> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "%%%02X", static_cast<unsigned>(byte));
      coded += buffer.data();
    }
  }
  return "attachment; filename=\"" + plain + "\"" + (exact ? "" : "; filename*=UTF-8''" + coded);
}

std::string_view content_type_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 21> kTypes{{
      {"csv", "text/csv"},
      {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
      {"gif", "image/gif"},
      {"gz", "application/gzip"},
      {"ipynb", "application/x-ipynb+json"},
      {"jpeg", "image/jpeg"},
      {"jpg", "image/jpeg"},
      {"json", "application/json"},
      {"jsonl", "application/jsonl"},
      {"md", "text/markdown"},
      {"parquet", "application/vnd.apache.parquet"},
      {"pdf", "application/pdf"},
      {"png", "image/png"},
      {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
      {"py", "text/x-python"},
      {"tar", "application/x-tar"},
      {"tsv", "text/tab-separated-values"},
      {"txt", "text/plain"},
      {"webp", "image/webp"},
      {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
      {"zip", "application/zip"},
  }};
  const std::size_t dot = name.rfind('.');
  std::string ending(dot == std::string_view::npos ? "" : name.substr(dot + 1));
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const auto& [known, type] : kTypes)
    if (known == ending) return type;
  return "application/octet-stream";
}

std::string base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace runner::http
