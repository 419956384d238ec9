#include "runner/mcp/content.h"

#include "runner/text.h"

namespace runner::mcp {
namespace {

json::string_view view(std::string_view text) { return {text.data(), text.size()}; }

// Named by the model, so it is shown with care.
std::string shown(std::string_view id) { return "'" + printable(id.substr(0, 64)) + "'"; }

std::string text_of(const Refusal& refusal, std::string_view session_id) {
  const std::string again =
      " Call execute_code without session_id to begin a new session, and put your files in again.";
  if (refusal.kind == Refusal::Kind::kExpired) {
    return "The session " + shown(session_id) +
           " has expired: it was idle for too long, or reached its lifetime. Its variables and "
           "files are gone." +
           again;
  }
  if (refusal.kind == Refusal::Kind::kNotFound && refusal.param != "file_id" &&
      refusal.param != "path") {
    return "There is no session " + shown(session_id) +
           ": the id is misspelt, or it was closed, or the server has been restarted." + again;
  }
  // The operator's choice, not the client's.
  if (refusal.kind == Refusal::Kind::kInvalid && refusal.param == "policy") {
    return "No code runs under this server's policy. evaluate_expression evaluates arithmetic.";
  }
  std::string text = to_utf8(refusal.text);
  if (refusal.retry_after) {
    text += ". Try again in " + std::to_string(refusal.retry_after->count()) + " s";
  }
  if (refusal.kind == Refusal::Kind::kTooMany) {
    text += ". close_session ends a session that is not needed any more";
  }
  return text + ".";
}

}  // namespace

void ToolResult::add_text(std::string_view utf8) {
  content.push_back(json::object{{"type", "text"}, {"text", view(utf8)}});
}

void ToolResult::add_image(std::string_view base64, std::string_view mime_type) {
  content.push_back(
      json::object{{"type", "image"}, {"data", view(base64)}, {"mimeType", view(mime_type)}});
}

json::object ToolResult::object() const {
  json::object result{{"content", content}};
  if (!structured.empty()) result["structuredContent"] = structured;
  result["isError"] = is_error;
  return result;
}

const char* kind_text(Refusal::Kind kind) noexcept {
  switch (kind) {
    case Refusal::Kind::kInvalid:
      return "invalid";
    case Refusal::Kind::kNotFound:
      return "not_found";
    case Refusal::Kind::kExpired:
      return "expired";
    case Refusal::Kind::kTooLarge:
      return "too_large";
    case Refusal::Kind::kTooMany:
      return "too_many";
    case Refusal::Kind::kUnavailable:
      return "unavailable";
  }
  return "unavailable";
}

json::object refusal_result(const Refusal& refusal, std::string_view session_id) {
  ToolResult result;
  result.is_error = true;
  result.add_text(text_of(refusal, session_id));
  json::object object = result.object();
  json::object kind{{"kind", kind_text(refusal.kind)}};
  if (refusal.retry_after) kind["retry_after_s"] = refusal.retry_after->count();
  object["_meta"] = json::object{{"sandglass/refusal", std::move(kind)}};
  return object;
}

}  // namespace runner::mcp
