// What the files of Session share: session.cc (its life and its queue) and session_events.cc (what
// an execution tells, and what is made of it). Theirs alone.
#pragma once

#include <memory>
#include <string>

#include "runner/service/session.h"

namespace runner {

struct Session::Execution {
  std::string id;
  std::uint64_t number = 0;  // in frames
  ExecuteWish wish;
  ExecutionSink sink;
  Act act = Act::kNone;
  Clock::time_point started;
  Stream out;
  Stream err;
  std::size_t results = 0;
  std::size_t result_bytes = 0;
  bool begun = false;
  std::vector<Output> early;  // read before `begin` was: pipes and channel are not ordered
  bool paused = false;
  bool ended = false;
  std::string status;
  int code = 0;
};

}  // namespace runner
