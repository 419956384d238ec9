#include "policies/load.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "policies/file.h"
#include "policies/nearest.h"
#include "policies/validate.h"

namespace policies {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxChain = 8;

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".toml");
}

// Follows `extends` from the asked policy to its root. Throws Error.
class Chain {
 public:
  explicit Chain(const Library& library) : library_(library) {}

  // Youngest first.
  std::vector<Document> collect(std::string_view asked) {
    step(first(asked));
    while (!chain_.back().extends().empty()) step(parent(chain_.back()));
    return std::move(chain_);
  }

 private:
  std::string first(std::string_view asked) {
    if (asked.empty()) throw Error{"a policy's name is empty; there are " + known()};
    if (is_path(asked)) return std::string(asked);
    if (!exists(asked))
      throw Error{"there is no policy \"" + printable(asked) + '"' + hint(asked) +
                  "; a file of your own is named by its path, e.g. ./mine.toml"};
    return shipped(asked);
  }

  std::string parent(const Document& child) {
    const std::string& name = child.extends();
    if (is_path(name))
      return name[0] == '/' ? name : (fs::path(child.file()).parent_path() / name).string();
    if (!exists(name))
      throw Error{child.extends_place() + ": extends: there is no policy \"" + printable(name) +
                  "\" (" + names_so_far() + " -> " + printable(name) + ')' + hint(name)};
    return shipped(name);
  }

  void step(const std::string& path) {
    const std::string canonical = fs::weakly_canonical(path).string();
    const bool loop = std::find(paths_.begin(), paths_.end(), canonical) != paths_.end();
    if (loop || chain_.size() == kMaxChain)
      throw Error{chain_.back().extends_place() +
                  ": extends: " + (loop ? "a loop: " : "more than 8 policies: ") + names_so_far() +
                  " -> " + printable(chain_.back().extends()) + "; a policy cannot extend itself"};
    auto text = read_file(path);
    if (!text) throw Error(text.error());
    auto document = Document::read(*text, path);
    if (!document) throw Error(document.error());
    check_name(*document, canonical);
    paths_.push_back(canonical);
    chain_.push_back(std::move(*document));
  }

  // So that a name in a report means one policy.
  void check_name(const Document& d, const std::string& canonical) {
    const bool is_shipped =
        fs::path(canonical).parent_path() == fs::weakly_canonical(library_.folder());
    const std::string stem = fs::path(canonical).stem().string();
    if (is_shipped && d.name() != stem)
      throw Error{d.name_place() + ": name: \"" + printable(d.name()) +
                  "\" must be the file's name, \"" + printable(stem) + '"'};
    if (!is_shipped && exists(d.name()))
      throw Error{d.name_place() + ": name: \"" + printable(d.name()) +
                  "\" is a policy that comes with Sandglass; choose another name"};
  }

  bool exists(std::string_view name) const {
    constexpr std::string_view kChars = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    if (name.empty() || name == "syscalls" ||
        name.find_first_not_of(kChars) != std::string_view::npos)
      return false;
    return fs::exists(shipped(name));
  }

  std::string shipped(std::string_view name) const {
    return library_.folder() + '/' + std::string(name) + ".toml";
  }

  std::string known() const { return join(library_.names()); }

  std::string hint(std::string_view name) const {
    return did_you_mean(name, library_.names()) +
           (did_you_mean(name, library_.names()).empty() ? "; there are " : " There are ") +
           known();
  }

  std::string names_so_far() const {
    std::string all;
    for (const Document& d : chain_) all += (all.empty() ? "" : " -> ") + printable(d.name());
    return all;
  }

  const Library& library_;
  std::vector<Document> chain_;
  std::vector<std::string> paths_;
};

// Reasons come down from the ancestors with what they were given for. One that nothing needs any
// more (the child denied the set) goes; one that this very file gives for nothing is a mistake.
void prune_reasons(Policy& policy, const std::vector<std::string>& in_force, const Document& leaf,
                   const Places& places) {
  for (const Unsafe& u : policy.unsafe) {
    if (std::find(in_force.begin(), in_force.end(), u.key) != in_force.end()) continue;
    const auto place = places.find("unsafe." + u.key);
    if (place != places.end() && place->second.starts_with(leaf.file() + ':'))
      throw Error{place->second + ": unsafe." + printable(u.key) +
                  ": nothing in this policy needs it; remove the line"};
  }
  std::erase_if(policy.unsafe, [&](const Unsafe& u) {
    return std::find(in_force.begin(), in_force.end(), u.key) == in_force.end();
  });
}

}  // namespace

Result<Library> Library::open(std::string folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  auto table = SyscallTable::open(folder + "/syscalls.toml");
  if (!table) {
    const std::string& text = table.error().text;
    const bool few = text.ends_with("EMFILE") || text.ends_with("ENFILE");
    return fail(text +
                (few ? "; raise ulimit -n" : "; the folder of policies must hold syscalls.toml"));
  }
  return Library(std::move(folder), std::move(*table));
}

std::vector<std::string> Library::names() const {
  std::vector<std::string> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error))
    if (entry.path().extension() == ".toml" && entry.path().stem() != "syscalls")
      all.push_back(entry.path().stem().string());
  std::sort(all.begin(), all.end());
  return all;
}

Result<Policy> Library::find(std::string_view name_or_path) const {
  try {
    const std::vector<Document> chain = Chain(*this).collect(name_or_path);
    Policy policy;
    Places places;
    for (auto d = chain.rbegin(); d != chain.rend(); ++d)
      if (auto done = d->apply(policy, places); !done) return tl::unexpected(done.error());
    const auto in_force = validate(policy, table_, places);
    if (!in_force) return tl::unexpected(in_force.error());
    prune_reasons(policy, *in_force, chain.front(), places);
    return policy;
  } catch (Error& e) {
    return tl::unexpected<Error>(std::move(e));
  } catch (const fs::filesystem_error& e) {
    const char* name = ::strerrorname_np(e.code().value());
    return fail(printable(name_or_path) + ": " + (name == nullptr ? "cannot be found" : name) +
                "; see whether the current folder still exists, or give an absolute path");
  }
}

}  // namespace policies
