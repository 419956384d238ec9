// What a tool's arguments ask for, read strictly. Pure; any thread.
//
// Both revisions want a wrong argument told as a tool's error, which the model reads and mends, and
// not as a protocol error: so these are Refusals.
#pragma once

#include <optional>
#include <string>

#include "runner/mcp/message.h"
#include "runner/service.h"

namespace runner::mcp {

struct ExecuteArguments {
  std::optional<std::string> session_id;  // absent: a new session
  ExecuteWish wish;
};
Answer<ExecuteArguments> execute_arguments(const json::object& arguments);

struct SessionArguments {
  std::string session_id;
  std::string after;  // of list_files: a path; what comes behind it
};
Answer<SessionArguments> list_arguments(const json::object& arguments);
Answer<SessionArguments> close_arguments(const json::object& arguments);

inline constexpr std::uint64_t kMostRead = std::uint64_t{256} << 10U;
struct ReadArguments {
  std::string session_id;
  std::string path;  // absolute
  std::uint64_t offset = 0;
  std::uint64_t most = std::uint64_t{64} << 10U;  // bytes, at most kMostRead
};
Answer<ReadArguments> read_arguments(const json::object& arguments);

struct WriteArguments {
  std::optional<std::string> session_id;  // absent: a new session
  std::string name;                       // in the workdir, no folders
  std::string content;
};
Answer<WriteArguments> write_arguments(const json::object& arguments);

}  // namespace runner::mcp
