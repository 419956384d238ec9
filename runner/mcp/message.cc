#include "runner/mcp/message.h"

#include "runner/text.h"
#include "runner/wire/duplicate_name.h"
#include "runner/wire/request_fields.h"

namespace runner::mcp {
namespace {

tl::unexpected<Unread> unread(Code code, std::string message, json::value id = nullptr) {
  return tl::unexpected(Unread{{code, std::move(message), {}}, std::move(id)});
}

json::object with_id(const json::value& id) {
  json::object object{{"jsonrpc", "2.0"}};
  if (!id.is_null()) object["id"] = id;
  return object;
}

tl::expected<Message, Unread> message_of(json::object& object) {
  const json::value* const id = object.if_contains("id");
  const bool is_good_id = id != nullptr && is_token(*id);
  const json::value known_id = is_good_id ? *id : json::value(nullptr);
  const json::value* const version = object.if_contains("jsonrpc");
  if (version == nullptr || *version != "2.0") {
    return unread(Code::kInvalidRequest, "'jsonrpc' must be \"2.0\"", known_id);
  }
  Message message;
  const json::value* const method = object.if_contains("method");
  if (method == nullptr) {
    if (!object.contains("result") && !object.contains("error")) {
      return unread(Code::kInvalidRequest, "there is no 'method'", known_id);
    }
    message.kind = Message::Kind::kResponse;
    return message;
  }
  if (!method->is_string()) {
    return unread(Code::kInvalidRequest, "'method' must be a string", known_id);
  }
  if (id != nullptr && !is_good_id) {
    return unread(Code::kInvalidRequest, "'id' must be a string or a whole number");
  }
  message.kind = id == nullptr ? Message::Kind::kNotification : Message::Kind::kRequest;
  message.id = known_id;
  message.method = std::string(method->get_string());
  if (json::value* const params = object.if_contains("params")) {
    if (!params->is_object()) {
      return unread(Code::kInvalidParams, "'params' must be an object", known_id);
    }
    message.params = std::move(params->get_object());
  }
  return message;
}

}  // namespace

tl::expected<Message, Unread> read_message(std::string_view text) {
  json::parse_options options;
  options.max_depth = wire::kMaxRequestDepth;
  json::error_code error;
  json::value value = json::parse(json::string_view(text.data(), text.size()), error, {}, options);
  if (error) return unread(Code::kParse, "this is not JSON: " + error.message());
  if (value.is_array()) {
    return unread(Code::kInvalidRequest,
                  "batches are not part of this protocol; send each message by itself");
  }
  if (!value.is_object()) {
    return unread(Code::kInvalidRequest, "a message must be a JSON object");
  }
  if (const auto name = wire::duplicate_name(text, options)) {
    return unread(Code::kInvalidRequest,
                  "'" + printable(name->substr(0, 64)) + "' stands twice in one object");
  }
  return message_of(value.get_object());
}

std::string result_text(const json::value& id, const json::object& result) {
  json::object object = with_id(id);
  object["result"] = result;
  return wire::to_ascii(object);
}

std::string failure_text(const json::value& id, const Failure& failure) {
  json::object error{{"code", static_cast<int>(failure.code)},
                     {"message", to_utf8(failure.message)}};
  if (!failure.data.empty()) error["data"] = failure.data;
  json::object object = with_id(id);
  object["error"] = std::move(error);
  return wire::to_ascii(object);
}

std::string notification_text(std::string_view method, const json::object& params) {
  json::object object = with_id(nullptr);
  object["method"] = method;
  object["params"] = params;
  return wire::to_ascii(object);
}

}  // namespace runner::mcp
