#include "runner/reach/surface.h"

#include <algorithm>

#include "runner/text.h"

namespace runner::reach {

int count_reachable(const Surface& surface) {
  return static_cast<int>(
      std::count_if(surface.calls.begin(), surface.calls.end(), [](const Call& call) {
        return call.opening == Opening::kTested || call.opening == Opening::kOpen;
      }));
}

std::string_view opening_text(Opening opening) noexcept {
  switch (opening) {
    case Opening::kClosed:
      return "closed";
    case Opening::kTested:
      return "some arguments";
    case Opening::kOpen:
      return "open";
    case Opening::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view place_text(Place place) noexcept {
  switch (place) {
    case Place::kHost:
      return "host";
    case Place::kMemory:
      return "memory";
    case Place::kMade:
      return "made";
    case Place::kProc:
      return "proc";
    case Place::kOther:
      break;
  }
  return "other";
}

std::string limit_text(const Limit& limit) {
  if (!limit.value) return "unlimited";
  if (limit.unit == "bytes") return size_text(jail::Bytes{*limit.value});
  if (limit.unit == "ms") {
    return duration_text(jail::Millis{static_cast<std::int64_t>(*limit.value)});
  }
  if (limit.unit == "us") {
    return duration_text(jail::Millis{static_cast<std::int64_t>(*limit.value / 1000)});
  }
  return std::to_string(*limit.value);
}

}  // namespace runner::reach
