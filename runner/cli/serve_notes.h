// What `serve` and `mcp` say on stderr about themselves. Main thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jail/host.h"
#include "policies/policy.h"
#include "runner/http/listen.h"
#include "runner/service.h"

namespace runner::cli {

struct Serving {
  http::Address address;
  std::string policy;  // of containers that name none
  bool wants_token = false;
};

// What weakens stands in the operator's log, not only in a file. One line each.
std::vector<std::string> weakening_notes(std::span<const policies::Policy> policies);

// What the host cannot give. One line each.
std::vector<std::string> host_notes(const std::vector<jail::Feature>& host);

// Notes what a policy wants preloaded and is not. Never silently absent; once for each set, since a
// prototype that is started anew lacks the same.
void note_preloaded(const Preload& preload);

// Whether SIGHUP means to end, as it does unless whoever started us ignores it (nohup(1)).
bool minds_hangup();

// Once an end was asked for: whoever asks again must not cut it short, up to the process's own end.
void take_no_more_signals();

// One line each: where and under which policy, what the host cannot give, and a command that works
// when it is pasted into a shell of this machine ($TOKEN stands for a token of the token file).
std::vector<std::string> serving_notes(const Serving& serving,
                                       const std::vector<jail::Feature>& host);

}  // namespace runner::cli
