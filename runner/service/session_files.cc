#include <utility>

#include "runner/service/sessions_inner.h"
#include "runner/text.h"

namespace runner {

using Kind = Refusal::Kind;

Answer<File> Sessions::put_file(const Tenant& tenant, std::string_view id, const std::string& name,
                                std::string_view content) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  Session& session = *(*found)->session;
  auto put = session.files().put(session.workdir(), name, content, seconds());
  (void)session.hash_rest();
  return put;
}

Answer<File> Sessions::copy_file(const Tenant& tenant, std::string_view id,
                                 std::string_view file_id) {
  for (const auto& [other, one] : entries_) {
    if (one->tenant != tenant || !one->session) continue;
    const File* file = one->session->files().find(file_id);
    if (file == nullptr) continue;
    const std::string name = file->path.substr(file->path.rfind('/') + 1);
    auto bytes = one->session->files().content(one->session->workdir(), file_id);
    if (!bytes) return tl::unexpected(bytes.error());
    return put_file(tenant, id, name, *bytes);
  }
  return refuse(Kind::kNotFound, "there is no file with this id", "file_id");
}

Answer<Listing<File>> Sessions::files(const Tenant& tenant, std::string_view id, const Page& page) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  Session& session = *(*found)->session;
  if (!session.is_busy()) {
    (void)session.files().look(session.workdir(), seconds());
    (void)session.hash_rest();
  }
  return page_of(session.files().all(), page, [](const File& one) { return one.id; });
}

Answer<File> Sessions::file(const Tenant& tenant, std::string_view id, std::string_view file_id) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  const File* file = (*found)->session->files().find(file_id);
  if (file == nullptr) return refuse(Kind::kNotFound, "no such file in this container", "file_id");
  return *file;
}

Answer<File> Sessions::file_at(const Tenant& tenant, std::string_view id, std::string_view path) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  Session& session = *(*found)->session;
  if (!session.is_busy()) (void)session.files().look(session.workdir(), seconds());
  const File* file = session.files().find_path(path);
  if (file != nullptr) return *file;
  return refuse(Kind::kNotFound,
                "there is no file " + printable(path.substr(0, 256)) +
                    " in this container; what running code has made is seen when it ends",
                "path");
}

Answer<std::string> Sessions::content(const Tenant& tenant, std::string_view id,
                                      std::string_view file_id) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  return (*found)->session->files().content((*found)->session->workdir(), file_id);
}

Answer<void> Sessions::remove_file(const Tenant& tenant, std::string_view id,
                                   std::string_view file_id) {
  const auto found = live(tenant, id);
  if (!found) return tl::unexpected(found.error());
  return (*found)->session->files().remove((*found)->session->workdir(), file_id);
}

}  // namespace runner
