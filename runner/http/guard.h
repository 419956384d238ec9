// Against browsers on the same machine: a page that a user visits must not be able to speak to a
// server on loopback, neither by its own requests nor after its name has been made to resolve to
// 127.0.0.1 (DNS rebinding). Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace runner::http {

// Whether `host` (a Host header: name and perhaps a port) is this machine's loopback or one of the
// names allowed besides. Names are compared without case; an empty host is not allowed.
bool is_allowed_host(std::string_view host, const std::vector<std::string>& allowed_names);

// Whether `origin` (an Origin header) is a page of `host` itself: "http://" and the same text, or
// "https://". "null" never is.
bool is_same_origin(std::string_view origin, std::string_view host);

}  // namespace runner::http
