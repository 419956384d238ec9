#include "runner/wire/execute_json.h"

#include "runner/text.h"
#include "runner/wire/request_fields.h"

namespace runner::wire {
namespace {

constexpr std::size_t kMaxText = std::size_t{64} << 20U;  // the body's own cap is lower
constexpr std::size_t kMaxName = 1024;
constexpr std::chrono::seconds kMaxTimeout = std::chrono::hours(24);

ExecuteRequest common(Fields& fields) {
  ExecuteRequest request;
  const auto code = fields.text("code", kMaxText);
  if (!code) fields.refuse("code", "is missing");
  request.wish.code = code.value_or("");
  request.wish.language = fields.text("language", kMaxName);
  request.wish.timeout = fields.seconds("timeout_s", kMaxTimeout);
  request.wish.input = fields.text("stdin", kMaxText);
  request.stream = fields.flag("stream");
  const std::string then = fields.text("on_disconnect", 32).value_or("continue");
  if (then == "interrupt") request.on_disconnect = OnDisconnect::kInterrupt;
  if (then != "interrupt" && then != "continue") {
    fields.refuse("on_disconnect", "must be \"continue\" or \"interrupt\"");
  }
  return request;
}

std::pair<std::string, std::string> file_of(const json::object& object, Fields& outer) {
  Fields fields(object, "files[].");
  std::pair<std::string, std::string> file;
  const auto name = fields.text("name", kMaxName);
  if (!name || name->empty()) fields.refuse("name", "is missing");
  file.first = name.value_or("");
  const auto plain = fields.text("content", kMaxText);
  const auto coded = fields.text("content_base64", kMaxText);
  if (plain.has_value() == coded.has_value()) {
    fields.refuse("content", "or 'content_base64' must stand there, and not both");
  }
  file.second = plain.value_or("");
  if (coded) {
    const auto bytes = bytes_from_base64(*coded);
    if (!bytes) fields.refuse("content_base64", "is not base64");
    file.second = bytes.value_or("");
  }
  if (const auto wrong = fields.refusal()) outer.refuse("files", "are wrong: " + wrong->text);
  return file;
}

}  // namespace

Answer<ExecuteRequest> execute_request(std::string_view body) {
  const auto object = parse_object(body);
  if (!object) return tl::unexpected(object.error());
  Fields fields(*object);
  ExecuteRequest request = common(fields);
  if (auto wrong = fields.refusal()) return tl::unexpected(*wrong);
  return request;
}

Answer<OnceRequest> once_request(std::string_view body) {
  const auto object = parse_object(body);
  if (!object) return tl::unexpected(object.error());
  Fields fields(*object);
  ExecuteRequest shared = common(fields);
  OnceRequest request{{std::move(shared.wish), {}, {}, {}}, shared.stream, shared.on_disconnect};
  request.wish.policy = fields.text("policy", kMaxName);
  request.wish.memory = fields.size("memory_limit");
  if (const json::array* files = fields.array("files", 100)) {
    for (const json::value& file : *files) {
      if (file.is_object()) {
        request.wish.files.push_back(file_of(file.get_object(), fields));
      } else {
        fields.refuse("files", "must hold objects: {\"name\", \"content\"}");
      }
    }
  }
  if (auto wrong = fields.refusal()) return tl::unexpected(*wrong);
  return request;
}

}  // namespace runner::wire
