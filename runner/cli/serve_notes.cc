#include "runner/cli/serve_notes.h"

#include "runner/text.h"

namespace runner::cli {
namespace {

// For a POSIX shell.
std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

std::string curl_line(const Serving& serving) {
  const bool is_unix = serving.address.kind == http::Address::Kind::kUnix;
  std::string line = "curl -s ";
  if (is_unix) line += "--unix-socket " + quoted(serving.address.host) + ' ';
  if (serving.wants_token) line += "-H \"Authorization: Bearer $TOKEN\" ";
  line += (is_unix ? "http://localhost" : serving.address.text()) + "/v1/execute";
  return line + R"( -H 'Content-Type: application/json' -d '{"code":"6 * 7"}')";
}

}  // namespace

std::vector<std::string> serving_notes(const Serving& serving,
                                       const std::vector<jail::Feature>& host) {
  std::vector<std::string> notes{"serving " + printable(serving.address.text()) +
                                 " under the policy " + printable(serving.policy)};
  for (const jail::Feature& feature : host) {
    if (feature.verdict != jail::Verdict::kAbsent) continue;
    notes.push_back("this host lacks " + printable(feature.name) +
                    (feature.found.empty() ? "" : " (" + printable(feature.found) + ')') +
                    "; without it: " + printable(feature.lost) +
                    (feature.mend.empty() ? "" : "; to have it: " + printable(feature.mend)));
  }
  notes.push_back("try: " + printable(curl_line(serving)));
  return notes;
}

}  // namespace runner::cli
