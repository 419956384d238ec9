#include "runner/wire/files_json.h"

#include "runner/text.h"
#include "runner/wire/listing_json.h"
#include "runner/wire/outcome_parts.h"
#include "runner/wire/request_fields.h"

namespace runner::wire {

json::object file_object(const File& file) {
  const bool is_users = file.source == File::Source::kUser;
  json::object object{{"id", file.id},
                      {"object", "container.file"},
                      {"created_at", file.created_at},
                      {"bytes", file.bytes},
                      {"container_id", file.container_id}};
  for (auto& member : path_object(file.path)) object.insert(member);
  object["source"] = is_users ? "user" : "assistant";
  if (file.sha256.empty()) {
    object["sha256"] = nullptr;
    object["sha256_note"] = to_utf8(file.sha256_note);
  } else {
    object["sha256"] = file.sha256;
  }
  if (file.content) object["content_base64"] = base64(*file.content);
  return object;
}

std::string file_json(const File& file) { return to_ascii(file_object(file)); }

std::string files_json(const Listing<File>& listing) { return listing_json(listing, file_object); }

Answer<std::string> file_id_wish(std::string_view body) {
  const auto object = parse_object(body);
  if (!object) return tl::unexpected(object.error());
  Fields fields(*object);
  const auto id = fields.text("file_id", 128);
  if (!id) fields.refuse("file_id", "is missing; or send the file itself as multipart/form-data");
  if (auto wrong = fields.refusal()) return tl::unexpected(*wrong);
  return *id;
}

}  // namespace runner::wire
