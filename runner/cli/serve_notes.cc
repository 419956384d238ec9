#include "runner/cli/serve_notes.h"

#include <csignal>
#include <set>

#include "runner/cli/print.h"
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

std::vector<std::string> weakening_notes(std::span<const policies::Policy> policies) {
  std::vector<std::string> notes;
  for (const policies::Policy& policy : policies)
    for (const policies::Unsafe& weak : policy.unsafe)
      notes.push_back("policy " + printable(policy.name) + " is weakened: " + printable(weak.key) +
                      ": " + printable(weak.reason));
  return notes;
}

std::vector<std::string> host_notes(const std::vector<jail::Feature>& host) {
  std::vector<std::string> notes;
  for (const jail::Feature& feature : host) {
    if (feature.verdict != jail::Verdict::kAbsent) continue;
    notes.push_back("this host lacks " + printable(feature.name) +
                    (feature.found.empty() ? "" : " (" + printable(feature.found) + ')') +
                    "; without it: " + printable(feature.lost) +
                    (feature.mend.empty() ? "" : "; to have it: " + printable(feature.mend)));
  }
  return notes;
}

void note_preloaded(const Preload& preload) {
  static std::set<std::string> said;
  std::string text;
  for (const Preload::Missing& one : preload.missing) {
    text += "policy " + printable(preload.policy) + ": " + printable(one.module) +
            " is not preloaded: " + printable(one.reason) +
            "; install it, or take it out of the policy's preload\n";
  }
  if (preload.state == Preload::State::kFailed)
    text = "policy " + printable(preload.policy) +
           ": no Python can be started: its prototype dies at each start: " +
           printable(preload.trouble) + "\n";
  if (!text.empty() && said.insert(text).second) note(text.substr(0, text.size() - 1));
}

bool minds_hangup() {
  struct sigaction now {};
  return ::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler != SIG_IGN;
}

// signal(7): what is blocked stays pending, also when asio gives the default action back.
void take_no_more_signals() {
  sigset_t asks;
  (void)::sigemptyset(&asks);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) (void)::sigaddset(&asks, signal);
  (void)::pthread_sigmask(SIG_BLOCK, &asks, nullptr);
}

std::vector<std::string> serving_notes(const Serving& serving,
                                       const std::vector<jail::Feature>& host) {
  std::vector<std::string> notes{"serving " + printable(serving.address.text()) +
                                 " under the policy " + printable(serving.policy)};
  for (std::string& line : host_notes(host)) notes.push_back(std::move(line));
  notes.push_back("try: " + printable(curl_line(serving)));
  return notes;
}

}  // namespace runner::cli
