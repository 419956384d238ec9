// JSON-RPC 2.0 as the Model Context Protocol uses it: one message a text, ids that are strings or
// whole numbers, no batches (both revisions that are spoken here have none). Pure; any thread.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace runner::mcp {

namespace json = boost::json;

enum class Code : int {
  kParse = -32700,
  kInvalidRequest = -32600,
  kNoMethod = -32601,
  kInvalidParams = -32602,
  kInternal = -32603,
  kNoResource = -32002,      // of the revisions with a handshake only
  kHeaderMismatch = -32020,  // 2026-07-28 from here
  kUnsupportedRevision = -32022,
  kCancelled = -32800,  // outside of what JSON-RPC reserves; only to clients that read no streams
};

// A protocol error: what is wrong with the message itself.
struct Failure {
  Code code = Code::kInternal;
  std::string message;  // one line: what and how to mend it
  json::object data = {};
};

struct Message {
  enum class Kind : std::uint8_t { kRequest, kNotification, kResponse };
  Kind kind = Kind::kRequest;
  json::value id = nullptr;  // of a request
  std::string method;
  json::object params;
};

// A text that is no message, and its id as far as that could be read (else null).
struct Unread {
  Failure failure;
  json::value id = nullptr;
};

tl::expected<Message, Unread> read_message(std::string_view text);

// One line of ASCII each, without a newline at its end. An id of null is left out.
std::string result_text(const json::value& id, const json::object& result);
std::string failure_text(const json::value& id, const Failure& failure);
std::string notification_text(std::string_view method, const json::object& params);

inline tl::unexpected<Failure> fail(Code code, std::string message) {
  return tl::unexpected(Failure{code, std::move(message), {}});
}

// Whether it may stand for a request or as a progress token.
inline bool is_token(const json::value& value) {
  return value.is_string() || value.is_int64() || value.is_uint64();
}

}  // namespace runner::mcp
