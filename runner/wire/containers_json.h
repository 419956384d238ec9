// Containers as OpenAI's Containers API shows them, and "policy", "language" and "expires_at"
// beside. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/service.h"

namespace runner::wire {

// {name, expires_after?: {anchor: "last_active_at", minutes}, memory_limit?, file_ids?,
// network_policy?: {type: "disabled"}, policy?, language?}; all may be left out. kInvalid.
Answer<ContainerWish> container_wish(std::string_view body);

std::string container_json(const Container& container);
std::string containers_json(const Listing<Container>& listing);

// {"id", "object": "container.deleted", "deleted": true}; `object` is "container" or
// "container.file".
std::string deleted_json(std::string_view id, std::string_view object);

// {"id", "object": "container.interrupted", "interrupted": true}
std::string interrupted_json(std::string_view id);

// One parameter of a query, decoded.
struct QueryItem {
  std::string name;
  std::string value;
};

struct PageQuery {
  Page page;
  std::string name;  // only these; empty: all
};

// limit (1 to 100), order ("asc", "desc"), after, name. Unknown ones are refused: kInvalid.
Answer<PageQuery> page_query(const std::vector<QueryItem>& query);

}  // namespace runner::wire
