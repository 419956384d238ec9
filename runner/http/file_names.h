// Names of files in headers: Content-Disposition both ways. Pure; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace runner::http {

// `attachment; filename="..."; filename*=UTF-8''...` (RFC 6266). The first is ASCII, for old
// clients; the second is exact, and left out where the first is exact too. A name that is not
// UTF-8 has U+FFFD in it. Never holds a control character.
std::string attachment(std::string_view name);

// The parameters of a header such as `form-data; name="file"; filename="a.csv"`: names in lower
// case, quoted strings taken out of their quotes. `filename*` (RFC 8187) is decoded and replaces
// `filename`. nullopt: not of that form, or a parameter stands twice.
struct HeaderValue {
  std::string value;  // in lower case: "form-data", "multipart/form-data"
  std::map<std::string, std::string, std::less<>> parameters;
};
std::optional<HeaderValue> parse_header_value(std::string_view text);

// What browsers put for a quote and line ends in multipart names: %22, %0D and %0A (HTML,
// "multipart form data"). Other percent signs stay.
std::string form_name_decoded(std::string_view text);

// By the name's ending; application/octet-stream for all that a browser would run, or that is not
// known: "text/csv" for a.csv, and the same as ever for a.html and a.svg.
std::string_view content_type_of(std::string_view name);

// The last component: clients may send a whole path.
std::string base_name(std::string_view path);

}  // namespace runner::http
