// One policy file. Reading has two steps, because a policy is its parent's value with this file on
// top: `Document` is the checked TOML of one file, `apply` writes it over a Policy. Lists add to
// what is there and never replace it; everything else replaces. Errors begin with
// "FILE:LINE:COLUMN: key: ". Pure; any thread; one Document is not to be shared while applied.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "policies/error.h"
#include "policies/policy.h"

namespace policies {

// Where each key was last written: "limits.memory" -> "tight.toml:12:9".
using Places = std::map<std::string, std::string, std::less<>>;

class TomlReader;

class Document {
 public:
  // `file` is the name for messages. Errors: larger than 1 MiB, not TOML, not UTF-8, nested deeper
  // than any policy, no `name`.
  static Result<Document> read(std::string_view text, std::string file);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& extends() const { return extends_; }  // empty: none
  [[nodiscard]] const std::string& name_place() const { return name_place_; }
  [[nodiscard]] const std::string& extends_place() const { return extends_place_; }

  // Errors: unknown key, wrong type, unit or range. `onto` is then half written.
  Result<void> apply(Policy& onto, Places& places) const;

  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

 private:
  Document();

  std::string file_;
  std::string name_;
  std::string extends_;
  std::string name_place_;
  std::string extends_place_;
  std::unique_ptr<TomlReader> reader_;
};

}  // namespace policies
