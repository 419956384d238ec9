#include "runner/mcp/resource.h"

#include <algorithm>
#include <array>

#include "runner/text.h"

namespace runner::mcp {
namespace {

constexpr std::string_view kScheme = "sandglass://";
constexpr std::string_view kOctets = "application/octet-stream";

struct Ending {
  std::string_view ending;
  std::string_view type;
};
constexpr std::array kEndings = {
    Ending{"csv", "text/csv"},
    Ending{"gif", "image/gif"},
    Ending{"html", "text/html"},
    Ending{"jpeg", "image/jpeg"},
    Ending{"jpg", "image/jpeg"},
    Ending{"js", "text/javascript"},
    Ending{"json", "application/json"},
    Ending{"log", "text/plain"},
    Ending{"md", "text/markdown"},
    Ending{"pdf", "application/pdf"},
    Ending{"png", "image/png"},
    Ending{"py", "text/x-python"},
    Ending{"svg", "image/svg+xml"},
    Ending{"tsv", "text/tab-separated-values"},
    Ending{"txt", "text/plain"},
    Ending{"webp", "image/webp"},
    Ending{"xml", "application/xml"},
    Ending{"zip", "application/zip"},
    Ending{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}};

// RFC 3986: what may stand in a path as it is.
bool is_plain(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') ||
         std::string_view("-._~/").find(c) != std::string_view::npos;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = digit_of(text[i + 1]);
    const int low = digit_of(text[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return bytes;
}

}  // namespace

std::string resource_uri(const ResourceName& name) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string uri = std::string(kScheme) + name.session_id;
  for (const char c : name.path) {
    if (is_plain(c)) {
      uri += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    uri += '%';
    uri += kDigits[byte >> 4U];
    uri += kDigits[byte & 0xFU];
  }
  return uri;
}

std::optional<ResourceName> parse_resource_uri(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  const std::size_t slash = uri.find('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  auto path = decoded(uri.substr(slash));
  if (!path) return std::nullopt;
  return ResourceName{std::string(uri.substr(0, slash)), std::move(*path)};
}

std::string mime_type_of(std::string_view path) {
  const std::string_view name = base_name_of(path);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::string(kOctets);
  std::string ending(name.substr(dot + 1));
  std::transform(ending.begin(), ending.end(), ending.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto* const found = std::find_if(kEndings.begin(), kEndings.end(),
                                         [&](const Ending& e) { return e.ending == ending; });
  return std::string(found == kEndings.end() ? kOctets : found->type);
}

bool is_image_type(std::string_view mime_type) noexcept {
  constexpr std::array<std::string_view, 4> kShown = {"image/png", "image/jpeg", "image/gif",
                                                      "image/webp"};
  return std::find(kShown.begin(), kShown.end(), mime_type) != kShown.end();
}

std::string_view base_name_of(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);
}

json::object resource_link(const File& file) {
  return {{"type", "resource_link"},
          {"uri", resource_uri({file.container_id, file.path})},
          {"name", to_utf8(base_name_of(file.path))},
          {"mimeType", mime_type_of(file.path)},
          {"size", file.bytes}};
}

json::object file_entry(const File& file) {
  json::object entry{{"path", to_utf8(file.path)},
                     {"uri", resource_uri({file.container_id, file.path})},
                     {"bytes", file.bytes},
                     {"mime_type", mime_type_of(file.path)},
                     {"source", file.source == File::Source::kUser ? "user" : "code"}};
  entry["sha256"] = file.sha256.empty() ? json::value(nullptr) : json::value(file.sha256);
  if (file.sha256.empty()) entry["sha256_note"] = to_utf8(file.sha256_note);
  return entry;
}

}  // namespace runner::mcp
