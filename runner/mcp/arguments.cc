#include "runner/mcp/arguments.h"

#include "runner/text.h"
#include "runner/wire/request_fields.h"

namespace runner::mcp {
namespace {

using wire::Fields;

constexpr std::size_t kMaxText = std::size_t{64} << 20U;  // a message's own cap is lower
constexpr std::size_t kMaxId = 128;
constexpr std::size_t kMaxPath = 4096;
constexpr std::chrono::seconds kMaxTimeout = std::chrono::hours(24);
constexpr std::string_view kWorkdir = "/mnt/data/";

std::string needed(Fields& fields, std::string_view name, std::size_t max) {
  const auto text = fields.text(name, max);
  if (!text) fields.refuse(name, "is missing");
  return text.value_or("");
}

template <class T>
Answer<T> checked(const Fields& fields, T value) {
  if (const auto wrong = fields.refusal()) return tl::unexpected(*wrong);
  return value;
}

}  // namespace

Answer<ExecuteArguments> execute_arguments(const json::object& arguments) {
  Fields fields(arguments);
  ExecuteArguments result;
  result.wish.code = needed(fields, "code", kMaxText);
  result.wish.language = fields.text("language", kMaxId);
  result.wish.timeout = fields.seconds("timeout_s", kMaxTimeout);
  result.session_id = fields.text("session_id", kMaxId);
  return checked(fields, std::move(result));
}

Answer<SessionArguments> list_arguments(const json::object& arguments) {
  Fields fields(arguments);
  SessionArguments result;
  result.session_id = needed(fields, "session_id", kMaxId);
  result.after = fields.text("after", kMaxPath).value_or("");
  return checked(fields, std::move(result));
}

Answer<SessionArguments> close_arguments(const json::object& arguments) {
  Fields fields(arguments);
  SessionArguments result;
  result.session_id = needed(fields, "session_id", kMaxId);
  return checked(fields, std::move(result));
}

Answer<ReadArguments> read_arguments(const json::object& arguments) {
  Fields fields(arguments);
  ReadArguments result;
  result.session_id = needed(fields, "session_id", kMaxId);
  result.path = needed(fields, "path", kMaxPath);
  if (!result.path.starts_with('/')) result.path.insert(0, kWorkdir);
  const auto offset = fields.integer("offset", 0, std::int64_t{1} << 40U);
  result.offset = static_cast<std::uint64_t>(offset.value_or(0));
  const auto most = fields.integer("max_bytes", 1, kMostRead);
  result.most = static_cast<std::uint64_t>(most.value_or(static_cast<std::int64_t>(result.most)));
  return checked(fields, std::move(result));
}

Answer<WriteArguments> write_arguments(const json::object& arguments) {
  Fields fields(arguments);
  WriteArguments result;
  result.session_id = fields.text("session_id", kMaxId);
  result.name = needed(fields, "path", kMaxPath);
  if (result.name.starts_with(kWorkdir)) result.name.erase(0, kWorkdir.size());
  if (result.name.find('/') != std::string::npos) {
    fields.refuse("path", "must name a file in /mnt/data itself: folders are made by code");
  }
  const auto plain = fields.text("content", kMaxText);
  const auto coded = fields.text("content_base64", kMaxText);
  if (plain.has_value() == coded.has_value()) {
    fields.refuse("content", "or 'content_base64' must stand there, and not both");
  }
  result.content = plain.value_or("");
  if (coded) {
    auto bytes = bytes_from_base64(*coded);
    if (!bytes) fields.refuse("content_base64", "is not base64");
    result.content = std::move(bytes).value_or("");
  }
  return checked(fields, std::move(result));
}

}  // namespace runner::mcp
