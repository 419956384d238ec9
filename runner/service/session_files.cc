#include <fcntl.h>

#include <utility>

#include "runner/service/sessions_inner.h"
#include "runner/text.h"

namespace runner {

using Kind = Refusal::Kind;

// The name is given on the loop, at once; the writing takes its time elsewhere.
void Sessions::put_file(const Tenant& tenant, std::string_view id, const std::string& name,
                        Content content, FileDone done) {
  const auto found = live(tenant, id);
  if (!found) return done(tl::unexpected(found.error()));
  const auto session = (*found)->session;
  if (auto wrong = session->files().wrong(name, content->size()))
    return done(tl::unexpected(std::move(*wrong)));
  struct Writing {
    jail::Fd workdir;
    StagedFile staged;
  };
  const auto writing = std::make_shared<Writing>();
  writing->workdir = jail::Fd(::fcntl(session->workdir().get(), F_DUPFD_CLOEXEC, 3));
  session->put_begins();
  writer_.run(
      alive_,
      [writing, name, content](const std::stop_token& /*stop*/) {
        writing->staged = stage(writing->workdir, name, *content);
      },
      [this, writing, name, tenant, container = std::string(id), done = std::move(done)] {
        const auto still = live(tenant, container);
        if (!still) return done(tl::unexpected(still.error()));
        const auto there = (*still)->session;
        done(there->files().put(there->workdir(), name, std::move(writing->staged), seconds()));
        there->put_is_over();
      });
}

void Sessions::copy_file(const Tenant& tenant, std::string_view id, std::string_view file_id,
                         const FileDone& done) {
  for (const auto& [other, one] : entries_) {
    if (one->tenant != tenant || !one->session) continue;
    const File* file = one->session->files().find(file_id);
    if (file == nullptr) continue;
    const std::string name = file->path.substr(file->path.rfind('/') + 1);
    auto bytes = one->session->files().content(one->session->workdir(), file_id);
    if (!bytes) return done(tl::unexpected(bytes.error()));
    return put_file(tenant, id, name, std::make_shared<const std::string>(std::move(*bytes)), done);
  }
  done(refuse(Kind::kNotFound, "there is no file with this id", "file_id"));
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
