// The table of routes: which method on which path does what, and how large its body may be.
// Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace runner::http {

enum class Action : std::uint8_t {
  kCreateContainer,
  kListContainers,
  kGetContainer,
  kDeleteContainer,
  kPutFile,
  kListFiles,
  kGetFile,
  kGetContent,
  kDeleteFile,
  kExecute,
  kInterrupt,
  kTrace,
  kExecuteOnce,
  kEvaluate,
  kMcp,
  kMcpEnd,
  kPolicies,
  kCapabilities,
  kHealth,
  kMetrics,
  kOpenApi,
};

enum class BodyCap : std::uint8_t { kNone, kJson, kCode, kFile };
enum class Access : std::uint8_t { kToken, kOpen };

struct Route {
  std::string_view method;
  std::string_view path;  // "/v1/containers/{container_id}"
  Action action;
  BodyCap body = BodyCap::kNone;
  Access access = Access::kToken;
};

std::span<const Route> routes();

struct Match {
  const Route* route = nullptr;  // null: 404 if `allow` is empty, else 405
  std::vector<std::string> ids;  // what stands for {...}, in order
  std::string allow;             // "GET, HEAD, OPTIONS": of this path
};

// HEAD finds what GET would. `segments` are the decoded parts of the path.
Match match(std::string_view method, std::span<const std::string> segments);

}  // namespace runner::http
