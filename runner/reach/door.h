// Probes of the server's door: what a client that means harm, or code in a container with a client
// for an ally, might try. They run against a running server, as one more client of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runner/error.h"
#include "runner/reach/report.h"

namespace runner::reach {

struct DoorOptions {
  std::string url;  // "http://127.0.0.1:8611" (numeric, or localhost), or "unix:PATH"
  // Whose containers are used, and a second client's, who must not get at them. Without any, what
  // needs a token or two is left out, and the report's notes say so.
  std::vector<std::string> tokens;
  std::vector<std::string> only;  // ids or names; empty: all
  std::function<void(std::size_t done, std::size_t total)> progress;
};

// The doors' part of the catalogue: category door, by door, expected blocked everywhere.
std::span<const Probe> server_catalogue();

// Runs them one after another; takes its containers away again. One thread; some twenty seconds at
// most where the server is healthy. kUsage: a bad URL, an unknown id, interrupted (interrupt.h).
// kHost: nobody answers there, or honest requests are refused as well.
Result<Report> run_door_suite(const DoorOptions& options);

}  // namespace runner::reach
