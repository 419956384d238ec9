#include "runner/mcp/file_tools.h"

#include <algorithm>

#include "runner/mcp/content.h"
#include "runner/mcp/resource.h"
#include "runner/text.h"

namespace runner::mcp {
namespace {

// Official clients take no message over 10 MiB from a pipe; base64 adds a third, JSON up to five
// times to a text.
constexpr std::uint64_t kMostWhole = std::uint64_t{6} << 20U;
constexpr std::uint64_t kMostText = std::uint64_t{1} << 20U;

bool is_first_of_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

// A piece of a text may begin and end within a character: those ends are no part of it.
std::string_view whole_characters(std::string_view piece, std::size_t& skipped) {
  skipped = 0;
  while (skipped < 3 && skipped < piece.size() && !is_first_of_character(piece[skipped])) ++skipped;
  return without_partial_character(piece.substr(skipped));
}

json::object image_result(const json::object& about, std::string_view bytes) {
  ToolResult result;
  result.structured = about;
  result.structured["offset"] = 0;
  result.structured["encoding"] = "image";
  result.structured["content"] = "";
  result.structured["truncated"] = false;
  result.add_text(std::string(about.at("path").as_string()) + ", " +
                  size_text(jail::Bytes{bytes.size()}) + ", as an image");
  result.add_image(base64(bytes), std::string(about.at("mime_type").as_string()));
  return result.object();
}

json::object piece_result(const json::object& about, std::string_view bytes,
                          const ReadArguments& arguments) {
  ToolResult result;
  const std::size_t from = std::min<std::uint64_t>(arguments.offset, bytes.size());
  std::string_view piece = bytes.substr(from, arguments.most);
  std::size_t skipped = 0;
  const std::string_view text = whole_characters(piece, skipped);
  const bool is_text = is_utf8(text);
  if (is_text && !text.empty()) piece = text;
  const std::size_t begin = is_text && !text.empty() ? from + skipped : from;
  const std::size_t end = begin + piece.size();
  const bool is_cut = end < bytes.size();
  const std::string content = is_text ? std::string(piece) : base64(piece);
  result.structured = about;
  result.structured["offset"] = begin;
  result.structured["encoding"] = is_text ? "utf-8" : "base64";
  result.structured["content"] = content;
  result.structured["truncated"] = is_cut;
  if (is_cut) result.structured["next_offset"] = end;
  std::string head = std::string(about.at("path").as_string()) + ", bytes " +
                     std::to_string(begin) + " to " + std::to_string(end) + " of " +
                     std::to_string(bytes.size()) + (is_text ? "" : ", in base64");
  if (is_cut) head += "; there is more: offset " + std::to_string(end);
  result.add_text(head);
  result.add_text(content);
  return result.object();
}

}  // namespace

json::object list_files(Service& service, const Tenant& tenant, const SessionArguments& arguments) {
  Page page;
  page.limit = 100;
  page.order = Page::Order::kAscending;
  if (!arguments.after.empty()) {
    const auto last = service.file_at(tenant, arguments.session_id, arguments.after);
    if (!last) return refusal_result(last.error(), arguments.session_id);
    page.after = last->id;
  }
  const auto listing = service.files(tenant, arguments.session_id, page);
  if (!listing) return refusal_result(listing.error(), arguments.session_id);
  ToolResult result;
  json::array files;
  std::string text;
  for (const File& file : listing->data) {
    files.push_back(file_entry(file));
    text += printable(file.path) + " (" + size_text(jail::Bytes{file.bytes}) + ")\n";
  }
  if (listing->data.empty()) text = "no files\n";
  if (listing->has_more) text += "there are more: give the last path as `after`\n";
  result.structured = {{"session_id", arguments.session_id},
                       {"files", std::move(files)},
                       {"has_more", listing->has_more}};
  result.add_text(text);
  for (const File& file : listing->data) result.content.push_back(resource_link(file));
  return result.object();
}

json::object read_file(Service& service, const Tenant& tenant, const ReadArguments& arguments) {
  const auto file = service.file_at(tenant, arguments.session_id, arguments.path);
  if (!file) return refusal_result(file.error(), arguments.session_id);
  const auto bytes = service.content(tenant, arguments.session_id, file->id);
  if (!bytes) return refusal_result(bytes.error(), arguments.session_id);
  const json::object about{{"session_id", arguments.session_id},
                           {"path", to_utf8(file->path)},
                           {"uri", resource_uri({file->container_id, file->path})},
                           {"bytes", bytes->size()},
                           {"mime_type", mime_type_of(file->path)}};
  const bool is_image = is_image_type(mime_type_of(file->path));
  if (is_image && arguments.offset == 0 && !bytes->empty() && bytes->size() <= kMostWhole) {
    return image_result(about, *bytes);
  }
  return piece_result(about, *bytes, arguments);
}

json::object close_session(Service& service, const Tenant& tenant,
                           const SessionArguments& arguments) {
  const auto removed = service.remove(tenant, arguments.session_id);
  if (!removed) return refusal_result(removed.error(), arguments.session_id);
  ToolResult result;
  result.structured = {{"session_id", arguments.session_id}, {"closed", true}};
  result.add_text("closed");
  return result.object();
}

tl::expected<json::object, Failure> read_resource(Service& service, const Request& request) {
  const json::value* const uri = request.params.if_contains("uri");
  if (uri == nullptr || !uri->is_string()) {
    return fail(Code::kInvalidParams, "'uri' must be a string");
  }
  // 2026-07-28 has no code of its own for a resource that is not there.
  const Code missing = request.era == Era::kStateless ? Code::kInvalidParams : Code::kNoResource;
  const std::string text(uri->get_string());
  const auto wrong = [&](const std::string& why) {
    return tl::unexpected(Failure{missing, why, {{"uri", text}}});
  };
  const auto name = parse_resource_uri(text);
  if (!name) return wrong("a resource is named sandglass://SESSION/mnt/data/FILE");
  const auto file = service.file_at(request.tenant, name->session_id, name->path);
  if (!file) return wrong(to_utf8(file.error().text));
  const auto bytes = service.content(request.tenant, name->session_id, file->id);
  if (!bytes) return wrong(to_utf8(bytes.error().text));
  if (bytes->size() > kMostWhole) {
    return wrong("the file is larger than " + size_text(jail::Bytes{kMostWhole}) +
                 ", the most that is sent at once; read_file reads it in pieces");
  }
  json::object content{{"uri", text}, {"mimeType", mime_type_of(file->path)}};
  if (bytes->size() <= kMostText && is_utf8(*bytes)) {
    content["text"] = *bytes;
  } else {
    content["blob"] = base64(*bytes);
  }
  json::object result{{"contents", json::array{std::move(content)}}};
  cacheable(result, request.era, Keep::kNot);
  return result;
}

Writing::Writing(Shared& shared, Request request, std::shared_ptr<Outlet> outlet,
                 WriteArguments arguments)
    : SessionCall(shared, std::move(request), std::move(outlet), arguments.session_id),
      name_(std::move(arguments.name)),
      content_(std::move(arguments.content)) {}

void Writing::go() {
  shared().service.put_file(request().tenant, session_id(), name_,
                            std::make_shared<const std::string>(std::move(content_)),
                            [weak = weak_from_this()](const Answer<File>& file) {
                              const auto self = weak.lock();
                              if (self) static_cast<Writing&>(*self).on_written(file);
                            });
}

void Writing::on_written(const Answer<File>& file) {
  if (is_cancelled()) {
    remove_own_session();
    return retire();
  }
  if (!file) return refuse(file.error());
  ToolResult result;
  result.structured = {
      {"session_id", session_id()}, {"session_is_new", is_new()}, {"file", file_entry(*file)}};
  result.add_text("wrote " + printable(file->path) + " (" + size_text(jail::Bytes{file->bytes}) +
                  ")\nsession_id: " + session_id() + (is_new() ? " (new)" : "") + "\n");
  result.content.push_back(resource_link(*file));
  finish(result.object());
}

}  // namespace runner::mcp
