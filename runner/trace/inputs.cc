#include "runner/trace/inputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "runner/session/content.h"
#include "runner/text.h"
#include "runner/trace/digest.h"
#include "runner/trace/folder.h"

namespace runner::trace {
namespace {

constexpr std::string_view kUnfinished = "unfinished";

bool is_hash(std::string_view name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Result<std::unique_ptr<Inputs>> Inputs::open(InputsOptions options) {
  auto inputs = std::make_unique<Inputs>(Key{}, std::move(options));
  if (auto opened = inputs->open_folder(); !opened) return tl::unexpected(opened.error());
  inputs->tend();
  return inputs;
}

Result<void> Inputs::open_folder() {
  const std::string& path = options_.folder;
  const bool made = ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
  jail::Fd folder(made ? ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
                       : -1);
  if (!folder.valid())
    return fail(ErrorKind::kFiles,
                "cannot keep inputs in " + printable(path) + ": " + jail::errno_name(errno));
  for (const std::string& name : names_in(folder)) {
    struct stat info {};
    if (name.starts_with(kUnfinished)) (void)::unlinkat(folder.get(), name.c_str(), 0);
    if (!is_hash(name) || ::fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    const auto bytes = static_cast<std::uint64_t>(info.st_size);
    known_[name] = {bytes, info.st_mtim.tv_sec};
    bytes_ += bytes;
  }
  folder_ = std::make_shared<const jail::Fd>(std::move(folder));
  return {};
}

int Inputs::Draft::write(std::string_view content) { return write_all(file, content); }

int Inputs::open(Draft& draft) {
  constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  draft.folder = folder_;
  draft.file = jail::Fd(::openat(folder_->get(), draft.name.c_str(), kNew, 0600));
  return draft.file.valid() ? 0 : errno;
}

tl::expected<std::unique_ptr<Inputs::Draft>, int> Inputs::begin(const std::string& sha256,
                                                                std::uint64_t bytes) {
  if (const auto known = known_.find(sha256); known != known_.end()) {
    known->second.seconds = std::time(nullptr);
    if (::utimensat(folder_->get(), sha256.c_str(), nullptr, 0) == 0 || errno != ENOENT)
      return nullptr;
    remove(known);  // somebody else has
  }
  if (bytes > options_.size.value) return tl::unexpected(EFBIG);
  make_room(drafted_ + bytes);
  auto draft = std::make_unique<Draft>();
  draft->sha256 = sha256;
  draft->name = std::string(kUnfinished) + "-" + std::to_string(++drafts_);
  draft->bytes = bytes;
  int error = open(*draft);
  if (error == ENOENT) {
    known_.clear();
    bytes_ = 0;
    if (open_folder()) error = open(*draft);
  }
  if (error != 0) return tl::unexpected(error);
  drafted_ += bytes;
  return draft;
}

tl::expected<std::shared_ptr<const jail::Fd>, int> Inputs::finish(Draft& draft, int error) {
  drafted_ -= draft.bytes;
  const int folder = draft.folder->get();
  if (error == 0 && ::renameat(folder, draft.name.c_str(), folder, draft.sha256.c_str()) != 0)
    error = errno;
  if (error != 0) {
    (void)::unlinkat(folder, draft.name.c_str(), 0);
    return tl::unexpected(error);
  }
  // The same file may have been put in twice at once.
  One& known = known_[draft.sha256];
  bytes_ += draft.bytes - known.bytes;
  known = {draft.bytes, std::time(nullptr)};
  return std::make_shared<const jail::Fd>(std::move(draft.file));
}

void Inputs::remove(std::map<std::string, One>::iterator one) {
  (void)::unlinkat(folder_->get(), one->first.c_str(), 0);
  bytes_ -= one->second.bytes;
  ++removed_;
  known_.erase(one);
}

void Inputs::make_room(std::uint64_t bytes) {
  while (!known_.empty() && bytes_ + bytes > options_.size.value)
    remove(std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
      return a.second.seconds < b.second.seconds;
    }));
}

void Inputs::tend() {
  const std::int64_t oldest =
      std::time(nullptr) - std::chrono::duration_cast<std::chrono::seconds>(options_.time).count();
  for (auto it = known_.begin(); it != known_.end();) {
    const auto one = it++;
    if (one->second.seconds < oldest) remove(one);
  }
  make_room(0);
}

Kept kept_input(const std::string& folder, const std::string& sha256) {
  constexpr jail::Bytes kMost = jail::mib(1024);
  if (!is_hash(sha256)) return {};
  const auto file = content_of_file(folder + "/" + sha256, kMost);
  if (!file) return {};
  auto content = text_of(*file);
  if (!content) return {};
  const bool same = trace::sha256(*content) == sha256;
  return {same ? Kept::State::kThere : Kept::State::kChanged, std::move(*content)};
}

}  // namespace runner::trace
