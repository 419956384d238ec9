// The protocol's revisions: how a client opens, and what both sides then hold to. Pure; any thread.
//
// Up to 2025-11-25 a client begins with `initialize` and the server remembers it. From 2026-07-28
// on there is no handshake: each request says all that is needed in its `_meta`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "runner/mcp/message.h"

namespace runner::mcp {

enum class Era : std::uint8_t { kHandshake, kStateless };

inline constexpr std::string_view kStateless = "2026-07-28";
inline constexpr std::string_view kNewestHandshake = "2025-11-25";

// 2025-11-25, and 2025-06-18, which has the same shapes as far as they are used here.
bool is_handshake_revision(std::string_view revision) noexcept;

// What a request's `_meta` says.
struct Meta {
  std::optional<std::string> revision;
  bool has_capabilities = false;
  std::optional<json::value> progress_token;
};
tl::expected<Meta, Failure> read_meta(const json::object& params);

// Whether a request that claims to need no handshake has all that such a request must have.
std::optional<Failure> wrong_stateless(const Meta& meta);

// -32022, with what is spoken here.
Failure unsupported(std::string_view requested);

// Who we are, to both eras.
struct Identity {
  std::string version;
  std::string instructions;  // for the model
};
// kInvalidParams where the client does not say which revision it speaks. One that is not known here
// is answered with the newest that is.
tl::expected<json::object, Failure> initialize_result(const json::object& params,
                                                      const Identity& identity);
json::object discover_result(const Identity& identity);

// What a result has beside its own members, by era: "resultType" and who answered.
void complete(json::object& result, Era era, const Identity& identity);
// How long a client may keep it: "ttlMs" and "cacheScope".
enum class Keep : std::uint8_t { kNot, kForAnHour };
void cacheable(json::object& result, Era era, Keep keep);

}  // namespace runner::mcp
