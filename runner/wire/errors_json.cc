#include "runner/wire/errors_json.h"

#include "runner/text.h"
#include "runner/wire/request_fields.h"

namespace runner::wire {
namespace {

const char* type_of(unsigned status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  if (status >= 500) return "server_error";
  return "invalid_request_error";
}

json::value or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(to_utf8(text));
}

}  // namespace

unsigned status_of(Refusal::Kind kind) noexcept {
  switch (kind) {
    case Refusal::Kind::kInvalid:
    case Refusal::Kind::kExpired:
      return 400;
    case Refusal::Kind::kNotFound:
      return 404;
    case Refusal::Kind::kTooLarge:
      return 413;
    case Refusal::Kind::kTooMany:
      return 429;
    case Refusal::Kind::kUnavailable:
      return 503;
  }
  return 503;
}

std::string error_json(const ErrorBody& error) {
  return to_ascii(json::object{{"error", json::object{{"message", to_utf8(error.message)},
                                                      {"type", type_of(error.status)},
                                                      {"param", or_null(error.param)},
                                                      {"code", or_null(error.code)}}}});
}

ErrorBody error_of(const Refusal& refusal) {
  // OpenAI's words for it, code null included: clients compare the whole message.
  if (refusal.kind == Refusal::Kind::kExpired) return {400, "Container is expired."};
  return {status_of(refusal.kind), refusal.text, refusal.param};
}

}  // namespace runner::wire
