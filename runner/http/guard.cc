#include "runner/http/guard.h"

#include <algorithm>
#include <array>

namespace runner::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_text(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool is_port(std::string_view text) {
  return text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The name without its port; empty if the port is none.
std::string_view name_of(std::string_view host) {
  const std::size_t after = host.starts_with('[') ? host.find(']') : 0;
  if (after == std::string_view::npos) return {};
  const std::size_t colon = host.find(':', after);
  if (colon == std::string_view::npos) return host;
  return is_port(host.substr(colon + 1)) ? host.substr(0, colon) : std::string_view{};
}

}  // namespace

bool is_allowed_host(std::string_view host, const std::vector<std::string>& allowed_names) {
  const std::string_view name = name_of(host);
  if (name.empty()) return false;
  constexpr std::array<std::string_view, 3> kOurs = {"localhost", "127.0.0.1", "[::1]"};
  const auto is_name = [name](std::string_view ours) { return same_text(name, ours); };
  return std::any_of(kOurs.begin(), kOurs.end(), is_name) ||
         std::any_of(allowed_names.begin(), allowed_names.end(), is_name);
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (same_text(origin.substr(0, scheme.size()), scheme)) {
      return !host.empty() && same_text(origin.substr(scheme.size()), host);
    }
  }
  return false;
}

}  // namespace runner::http
