// One page of a list, as OpenAI's API shows it. Pure; any thread.
#pragma once

#include <string>

#include "runner/service.h"
#include "runner/wire/request_fields.h"

namespace runner::wire {

template <class T, class ObjectOf>
std::string listing_json(const Listing<T>& listing, const ObjectOf& object_of) {
  json::array data;
  for (const T& item : listing.data) data.push_back(object_of(item));
  json::object object{{"object", "list"}, {"data", std::move(data)}};
  const bool none = listing.data.empty();
  object["first_id"] = none ? json::value(nullptr) : json::value(listing.data.front().id);
  object["last_id"] = none ? json::value(nullptr) : json::value(listing.data.back().id);
  object["has_more"] = listing.has_more;
  return to_ascii(object);
}

}  // namespace runner::wire
