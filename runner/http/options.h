// How the server behaves. Plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "jail/units.h"
#include "runner/http/tokens.h"
#include "runner/mcp/options.h"
#include "runner/wire/evaluate_json.h"
#include "runner/wire/server_json.h"

namespace runner::http {

struct Timeouts {
  jail::Millis idle{75'000};         // between two requests
  jail::Millis header{10'000};       // from a request's first byte to the end of its header
  jail::Millis body_stall{10'000};   // without a byte of the body
  jail::Millis body{300'000};        // the whole body
  jail::Millis write_stall{60'000};  // a client that does not read, then it is cut
  jail::Millis keep_alive{5'000};    // between two lines of a stream
  jail::Millis linger{2'000};        // for the client to read an error before we close
  jail::Millis shutdown{5'000};      // from stop() to the end, whatever clients do
  jail::Millis make_room{10'000};    // to take a reply, once others need its memory
};

struct ServerOptions {
  Tokens tokens;
  std::vector<std::string> allowed_hosts;  // beside localhost, 127.0.0.1 and [::1]
  std::string policies_json;
  wire::Capabilities capabilities;
  wire::Grammar grammar;
  mcp::Options mcp;
  Timeouts timeouts;
  std::size_t max_connections = 16'384;     // fewer if the limit of open files is lower
  jail::Bytes stream_queue = jail::mib(1);  // what may wait for one client
  jail::Bytes max_json = jail::mib(1);
  jail::Bytes max_code = jail::mib(17);       // code of 16 MiB and what JSON puts around it
  jail::Bytes body_memory = jail::mib(512);   // of all bodies being read; above it: 503
  jail::Bytes reply_memory = jail::mib(512);  // of all replies that wait; see outgoing.h
};

}  // namespace runner::http
