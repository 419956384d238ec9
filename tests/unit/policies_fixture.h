// What the policy tests share: the shipped library, a folder of one's own, a policy from a text.
#pragma once

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "policies/file.h"
#include "policies/load.h"
#include "policies/parse.h"
#include "policies/validate.h"

namespace policies_test {

inline const policies::Library& shipped() {
  static const auto library = policies::Library::open(POLICY_FOLDER);
  if (!library) FAIL(library.error().text);
  return *library;
}

inline policies::Policy find(const std::string& name) {
  auto policy = shipped().find(name);
  if (!policy) FAIL(policy.error().text);
  return *policy;
}

inline std::string error_of(const std::string& name) {
  const auto policy = shipped().find(name);
  return policy ? "" : policy.error().text;
}

// The error of reading and applying `text` as the file "p.toml"; empty: none.
inline std::string parse_error(const std::string& text) {
  const auto document = policies::Document::read(text, "p.toml");
  if (!document) return document.error().text;
  policies::Policy policy;
  policies::Places places;
  const auto done = document->apply(policy, places);
  return done ? "" : done.error().text;
}

// A folder that is gone at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "policies.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) FAIL("mkdtemp");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// The error of a policy "mine" of this text (which must not name itself) in a file of its own,
// without the folder's name.
inline std::string own_error(const std::string& text) {
  const Folder folder;
  std::string error = error_of(folder.write("mine.toml", "name = \"mine\"\n" + text));
  for (std::size_t at = 0; (at = error.find(folder.path() + '/')) != std::string::npos;)
    error.erase(at, folder.path().size() + 1);
  return error;
}

inline policies::Policy own(const std::string& text) {
  const Folder folder;
  return find(folder.write("mine.toml", "name = \"mine\"\n" + text));
}

}  // namespace policies_test
