#include "runner/http/outgoing.h"

#include <algorithm>

namespace runner::http {

void Outgoing::set(Place place, std::uint64_t bytes) {
  if (place->is_cut) return;
  bytes_ += bytes - place->bytes;
  std::uint64_t& of_tenant = by_tenant_[place->tenant];
  of_tenant += bytes - place->bytes;
  if (of_tenant == 0) by_tenant_.erase(place->tenant);
  place->bytes = bytes;
}

void Outgoing::close(Place place) {
  set(place, 0);
  shares_.erase(place);
}

bool Outgoing::make_room(std::uint64_t bytes, Need need) {
  while (bytes_ + bytes > most_)
    if (!cut_one(need)) return false;
  return true;
}

bool Outgoing::cut_one(Need need) {
  const auto most = std::max_element(
      by_tenant_.begin(), by_tenant_.end(),
      [](const auto& one, const auto& other) { return one.second < other.second; });
  if (most == by_tenant_.end()) return false;
  auto oldest = shares_.end();
  for (auto it = shares_.begin(); it != shares_.end(); ++it) {
    if (it->is_cut || !it->whole_since || it->tenant != most->first) continue;
    if (oldest == shares_.end() || *it->whole_since < *oldest->whole_since) oldest = it;
  }
  if (oldest == shares_.end()) return false;
  if (need == Need::kCanWait && Clock::now() - *oldest->whole_since < patience_) return false;
  set(oldest, 0);
  oldest->is_cut = true;
  ++cut_;
  oldest->cut();
  return true;
}

}  // namespace runner::http
