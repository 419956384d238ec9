// The folder of policies. Only what is asked for is read: the policy, its ancestors and the parts
// of syscalls.toml they name, since a whole `sandglass exec` has ten milliseconds.
// Immutable to its users; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policies/error.h"
#include "policies/parse.h"
#include "policies/policy.h"
#include "policies/syscalls.h"

namespace policies {

class Library {
 public:
  // `folder` holds NAME.toml and syscalls.toml. Errors: no such folder, no syscalls.toml in it.
  static Result<Library> open(std::string folder);

  // The names of the shipped policies, ascending. Their content is not looked at.
  [[nodiscard]] std::vector<std::string> names() const;

  // A name, or a path to a .toml file (it contains "/" or ends in ".toml"), which may extend a
  // shipped policy or, by path, another file beside it. The result is merged and validated.
  // Errors: unknown name, with what there is and what was perhaps meant; unknown parent or a loop,
  // with the chain; whatever reading and validate() find.
  [[nodiscard]] Result<Policy> find(std::string_view name_or_path) const;

  [[nodiscard]] const SyscallTable& syscalls() const { return table_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  Library(std::string folder, SyscallTable table)
      : folder_(std::move(folder)), table_(std::move(table)) {}

  std::string folder_;
  SyscallTable table_;
};

}  // namespace policies
