// What `serve` says on stderr when it has begun to listen. Main thread.
#pragma once

#include <string>
#include <vector>

#include "jail/host.h"
#include "runner/http/listen.h"

namespace runner::cli {

struct Serving {
  http::Address address;
  std::string policy;  // of containers that name none
  bool wants_token = false;
};

// One line each: where and under which policy, what the host cannot give, and a command that works
// when it is pasted into a shell of this machine ($TOKEN stands for a token of the token file).
std::vector<std::string> serving_notes(const Serving& serving,
                                       const std::vector<jail::Feature>& host);

}  // namespace runner::cli
