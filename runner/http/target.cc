#include "runner/http/target.h"

#include <algorithm>
#include <set>

namespace runner::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::vector<std::string>> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // "/"
    const std::size_t end = std::min(path.find('/'), path.size());
    auto segment = percent_decoded(path.substr(0, end));
    if (!segment || segment->empty() || *segment == "." || *segment == "..") return std::nullopt;
    if (segment->find('\0') != std::string::npos) return std::nullopt;
    segments.push_back(std::move(*segment));
    path.remove_prefix(end);
  }
  return segments;
}

// application/x-www-form-urlencoded: "+" is a blank.
std::optional<std::string> form_decoded(std::string_view text) {
  std::string blanks(text);
  std::replace(blanks.begin(), blanks.end(), '+', ' ');
  return percent_decoded(blanks);
}

bool parse_query(std::string_view query, std::vector<wire::QueryItem>& items) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view item = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (item.empty()) continue;
    const std::size_t equals = std::min(item.find('='), item.size());
    auto name = form_decoded(item.substr(0, equals));
    auto value = form_decoded(item.substr(std::min(equals + 1, item.size())));
    if (!name || !value) return false;
    items.push_back({std::move(*name), std::move(*value)});
  }
  return true;
}

}  // namespace

std::optional<std::string> duplicate_name(const std::vector<wire::QueryItem>& query) {
  std::set<std::string_view> names;
  for (const wire::QueryItem& item : query)
    if (!names.insert(item.name).second) return item.name;
  return std::nullopt;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::optional<Target> parse_target(std::string_view target) {
  Target result;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    result.authority = target.substr(0, end);
    if (result.authority.empty()) return std::nullopt;
    target.remove_prefix(end);
    if (target.empty()) target = "/";
    break;
  }
  if (!target.starts_with('/') || target.find('#') != std::string_view::npos) return std::nullopt;
  const std::size_t mark = std::min(target.find('?'), target.size());
  auto segments = target.substr(0, mark) == "/" ? std::vector<std::string>{}
                                                : segments_of(target.substr(0, mark));
  if (!segments) return std::nullopt;
  result.segments = std::move(*segments);
  if (!parse_query(target.substr(std::min(mark + 1, target.size())), result.query)) {
    return std::nullopt;
  }
  return result;
}

}  // namespace runner::http
