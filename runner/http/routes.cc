#include "runner/http/routes.h"

#include <algorithm>

namespace runner::http {
namespace {

constexpr std::array kRoutes = {
    Route{"POST", "/v1/containers", Action::kCreateContainer, BodyCap::kJson},
    Route{"GET", "/v1/containers", Action::kListContainers},
    Route{"GET", "/v1/containers/{container_id}", Action::kGetContainer},
    Route{"DELETE", "/v1/containers/{container_id}", Action::kDeleteContainer},
    Route{"POST", "/v1/containers/{container_id}/files", Action::kPutFile, BodyCap::kFile},
    Route{"GET", "/v1/containers/{container_id}/files", Action::kListFiles},
    Route{"GET", "/v1/containers/{container_id}/files/{file_id}", Action::kGetFile},
    Route{"GET", "/v1/containers/{container_id}/files/{file_id}/content", Action::kGetContent},
    Route{"DELETE", "/v1/containers/{container_id}/files/{file_id}", Action::kDeleteFile},
    Route{"POST", "/v1/containers/{container_id}/execute", Action::kExecute, BodyCap::kCode},
    Route{"POST", "/v1/containers/{container_id}/interrupt", Action::kInterrupt, BodyCap::kJson},
    Route{"GET", "/v1/containers/{container_id}/trace", Action::kTrace},
    Route{"POST", "/v1/execute", Action::kExecuteOnce, BodyCap::kCode},
    Route{"POST", "/v1/evaluate", Action::kEvaluate, BodyCap::kJson},
    Route{"POST", "/mcp", Action::kMcp, BodyCap::kCode},
    Route{"DELETE", "/mcp", Action::kMcpEnd},
    Route{"GET", "/v1/policies", Action::kPolicies},
    Route{"GET", "/v1/capabilities", Action::kCapabilities},
    Route{"GET", "/healthz", Action::kHealth, BodyCap::kNone, Access::kOpen},
    Route{"GET", "/metrics", Action::kMetrics},
    Route{"GET", "/openapi.json", Action::kOpenApi, BodyCap::kNone, Access::kOpen},
};

// Whether the path fits the pattern; fills in `ids` if so.
bool fits(std::string_view pattern, std::span<const std::string> segments,
          std::vector<std::string>& ids) {
  std::vector<std::string> found;
  for (const std::string& segment : segments) {
    if (pattern.empty()) return false;
    pattern.remove_prefix(1);
    const std::string_view part = pattern.substr(0, std::min(pattern.find('/'), pattern.size()));
    pattern.remove_prefix(part.size());
    if (part.starts_with('{')) {
      found.push_back(segment);
    } else if (part != segment) {
      return false;
    }
  }
  if (!pattern.empty() || segments.empty()) return false;
  ids = std::move(found);
  return true;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

Match match(std::string_view method, std::span<const std::string> segments) {
  Match result;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const Route& route : kRoutes) {
    std::vector<std::string> ids;
    if (!fits(route.path, segments, ids)) continue;
    result.allow += std::string(route.method) + ", " + (route.method == "GET" ? "HEAD, " : "");
    if (route.method != wanted) continue;
    result.route = &route;
    result.ids = std::move(ids);
  }
  if (!result.allow.empty()) result.allow += "OPTIONS";
  return result;
}

}  // namespace runner::http
