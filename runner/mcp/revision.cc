#include "runner/mcp/revision.h"

#include <algorithm>
#include <array>

#include "runner/text.h"

namespace runner::mcp {
namespace {

constexpr std::array kHandshakes = {kNewestHandshake, std::string_view("2025-06-18")};

json::object capabilities() {
  return {{"tools", json::object{{"listChanged", false}}}, {"resources", json::object{}}};
}

json::object server_info(const Identity& identity) {
  return {{"name", "sandglass"}, {"title", "Sandglass"}, {"version", identity.version}};
}

}  // namespace

bool is_handshake_revision(std::string_view revision) noexcept {
  return std::find(kHandshakes.begin(), kHandshakes.end(), revision) != kHandshakes.end();
}

tl::expected<Meta, Failure> read_meta(const json::object& params) {
  Meta meta;
  const json::value* const value = params.if_contains("_meta");
  if (value == nullptr) return meta;
  if (!value->is_object()) return fail(Code::kInvalidParams, "'_meta' must be an object");
  const json::object& object = value->get_object();
  if (const auto* revision = object.if_contains("io.modelcontextprotocol/protocolVersion")) {
    if (!revision->is_string()) {
      return fail(Code::kInvalidParams,
                  "'io.modelcontextprotocol/protocolVersion' must be a string");
    }
    meta.revision = std::string(revision->get_string());
  }
  const auto* capable = object.if_contains("io.modelcontextprotocol/clientCapabilities");
  meta.has_capabilities = capable != nullptr && capable->is_object();
  if (const auto* token = object.if_contains("progressToken")) {
    if (!is_token(*token)) {
      return fail(Code::kInvalidParams, "'progressToken' must be a string or a whole number");
    }
    meta.progress_token = *token;
  }
  return meta;
}

std::optional<Failure> wrong_stateless(const Meta& meta) {
  if (!meta.revision) {
    return Failure{
        Code::kInvalidParams, "'_meta' has no 'io.modelcontextprotocol/protocolVersion'", {}};
  }
  if (*meta.revision != kStateless) return unsupported(*meta.revision);
  if (!meta.has_capabilities) {
    return Failure{Code::kInvalidParams,
                   "'_meta' has no object 'io.modelcontextprotocol/clientCapabilities'",
                   {}};
  }
  return std::nullopt;
}

Failure unsupported(std::string_view requested) {
  json::array supported{json::string_view(kStateless.data(), kStateless.size())};
  for (const std::string_view revision : kHandshakes) {
    supported.emplace_back(json::string_view(revision.data(), revision.size()));
  }
  const std::string shown = to_utf8(requested.substr(0, 64));
  const bool is_early = is_handshake_revision(requested);
  return {Code::kUnsupportedRevision,
          is_early ? "the revision " + shown + " begins with initialize"
                   : "this protocol revision is not spoken here",
          {{"supported", std::move(supported)}, {"requested", shown}}};
}

tl::expected<json::object, Failure> initialize_result(const json::object& params,
                                                      const Identity& identity) {
  const json::value* const asked = params.if_contains("protocolVersion");
  if (asked == nullptr || !asked->is_string()) {
    return fail(Code::kInvalidParams, "'protocolVersion' must say which revision you speak");
  }
  const std::string revision(asked->get_string());
  return json::object{{"protocolVersion",
                       is_handshake_revision(revision) ? revision : std::string(kNewestHandshake)},
                      {"capabilities", capabilities()},
                      {"serverInfo", server_info(identity)},
                      {"instructions", identity.instructions}};
}

json::object discover_result(const Identity& identity) {
  const Failure spoken = unsupported("");
  json::object result{{"supportedVersions", spoken.data.at("supported")},
                      {"capabilities", capabilities()},
                      {"instructions", identity.instructions}};
  return result;
}

void complete(json::object& result, Era era, const Identity& identity) {
  if (era != Era::kStateless) return;
  result["resultType"] = "complete";
  json::value& meta = result["_meta"];
  if (!meta.is_object()) meta = json::object();
  meta.get_object()["io.modelcontextprotocol/serverInfo"] = server_info(identity);
}

void cacheable(json::object& result, Era era, Keep keep) {
  if (era != Era::kStateless) return;
  const bool for_an_hour = keep == Keep::kForAnHour;
  result["ttlMs"] = for_an_hour ? 3'600'000 : 0;
  result["cacheScope"] = for_an_hour ? "public" : "private";
}

}  // namespace runner::mcp
