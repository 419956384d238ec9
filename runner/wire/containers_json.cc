#include "runner/wire/containers_json.h"

#include <charconv>

#include "runner/text.h"
#include "runner/wire/listing_json.h"
#include "runner/wire/request_fields.h"

namespace runner::wire {
namespace {

constexpr std::size_t kMaxName = 256;
constexpr std::int64_t kMaxMinutes = std::int64_t{7} * 24 * 60;  // the policy's own cap is lower

std::optional<std::chrono::minutes> idle_of(Fields& fields, std::optional<Refusal>& wrong) {
  const json::object* expires = fields.object("expires_after");
  if (expires == nullptr) return std::nullopt;
  Fields inner(*expires, "expires_after.");
  const auto anchor = inner.text("anchor", 32);
  if (anchor && *anchor != "last_active_at") inner.refuse("anchor", "must be \"last_active_at\"");
  const auto minutes = inner.integer("minutes", 1, kMaxMinutes);
  if (!minutes) inner.refuse("minutes", "is missing");
  wrong = inner.refusal();
  return std::chrono::minutes(minutes.value_or(1));
}

// No jail has a network. A client that asks for one must hear so, not find out by itself.
void mind_network(Fields& fields) {
  const json::object* network = fields.object("network_policy");
  if (network == nullptr) return;
  const json::value* type = network->if_contains("type");
  if (type == nullptr || *type != "disabled") {
    fields.refuse("network_policy", "must be {\"type\": \"disabled\"}: no container has a network");
  }
}

std::string memory_text(jail::Bytes memory) {
  const std::uint64_t value = memory.value;
  if (value != 0 && value % (1U << 30U) == 0) return std::to_string(value >> 30U) + "g";
  if (value != 0 && value % (1U << 20U) == 0) return std::to_string(value >> 20U) + "m";
  return std::to_string(value);
}

json::object object_of(const Container& container) {
  return {{"id", container.id},
          {"object", "container"},
          {"created_at", container.created_at},
          {"status", container.status == Container::Status::kRunning ? "running" : "expired"},
          {"last_active_at", container.last_active_at},
          {"expires_at", container.expires_at},
          {"expires_after",
           json::object{{"anchor", "last_active_at"}, {"minutes", container.idle.count()}}},
          {"name", to_utf8(container.name)},
          {"memory_limit", memory_text(container.memory)},
          {"network_policy", json::object{{"type", "disabled"}}},
          {"policy", container.policy},
          {"language", container.language}};
}

}  // namespace

Answer<ContainerWish> container_wish(std::string_view body) {
  const auto object = parse_object(body);
  if (!object) return tl::unexpected(object.error());
  Fields fields(*object);
  std::optional<Refusal> inner;
  ContainerWish wish;
  wish.name = fields.text("name", kMaxName).value_or("");
  wish.policy = fields.text("policy", kMaxName);
  wish.language = fields.text("language", kMaxName);
  wish.idle = idle_of(fields, inner);
  wish.memory = fields.size("memory_limit");
  wish.file_ids = fields.texts("file_ids", 100);
  mind_network(fields);
  if (const json::array* skills = fields.array("skills", 100); skills && !skills->empty()) {
    fields.refuse("skills", "are not offered here");
  }
  if (auto wrong = fields.refusal()) return tl::unexpected(*wrong);
  if (inner) return tl::unexpected(*inner);
  return wish;
}

std::string container_json(const Container& container) { return to_ascii(object_of(container)); }

std::string containers_json(const Listing<Container>& listing) {
  return listing_json(listing, object_of);
}

std::string deleted_json(std::string_view id, std::string_view object) {
  return to_ascii(
      json::object{{"id", id}, {"object", std::string(object) + ".deleted"}, {"deleted", true}});
}

std::string interrupted_json(std::string_view id) {
  return to_ascii(
      json::object{{"id", id}, {"object", "container.interrupted"}, {"interrupted", true}});
}

Answer<PageQuery> page_query(const std::vector<QueryItem>& query) {
  PageQuery result;
  for (const QueryItem& item : query) {
    if (item.name == "limit") {
      const char* const end = item.value.data() + item.value.size();
      const auto read = std::from_chars(item.value.data(), end, result.page.limit);
      const bool fits = read.ec == std::errc{} && read.ptr == end && result.page.limit >= 1 &&
                        result.page.limit <= 100;
      if (!fits) return invalid("'limit' must be a whole number from 1 to 100", "limit");
    } else if (item.name == "order") {
      if (item.value != "asc" && item.value != "desc") {
        return invalid("'order' must be asc or desc", "order");
      }
      result.page.order = item.value == "asc" ? Page::Order::kAscending : Page::Order::kDescending;
    } else if (item.name == "after") {
      result.page.after = item.value;
    } else if (item.name == "name") {
      result.name = item.value;
    } else {
      const std::string name = printable(item.name.substr(0, 64));
      return invalid("there is no parameter '" + name + "'", name);
    }
  }
  return result;
}

}  // namespace runner::wire
