// What the files of Session share: session.cc (its life and its queue), session_events.cc (what an
// execution tells, and what is made of it), session_end.cc (its end). Theirs alone.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "runner/service/session.h"

namespace runner {

struct Session::Execution {
  std::string id;
  std::uint64_t number = 0;      // in frames
  std::uint64_t after_puts = 0;  // how many files must have been put in
  ExecuteWish wish;
  ExecutionSink sink;
  Act act = Act::kNone;
  Clock::time_point started;
  DiskState disk = DiskState::kUnknown;  // when it started
  Stream out;
  Stream err;
  std::size_t results = 0;
  std::size_t result_bytes = 0;
  std::uint64_t results_dropped = 0;
  bool begun = false;
  std::vector<Output> early;  // read before `begin` was: pipes and channel are not ordered
  bool paused = false;
  bool ended = false;
  bool killed = false;  // what the driver may still say of its end is too late
  std::string status;
  int code = 0;
};

struct Session::Settling {
  std::shared_ptr<Execution> execution;
  Finished finished;
  std::set<std::string> unhashed;
};

}  // namespace runner
