// syscalls.toml as a value: the named sets a policy may allow, the quiet answers, the never list.
// Sections are parsed when they are first asked for, since a launch needs half of them and reading
// all costs more than making the jail.
// Immutable to its users; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "jail/spec.h"
#include "policies/error.h"

namespace policies {

using Tests = std::vector<jail::ArgTest>;  // and-ed

struct SyscallEntry {
  std::string name;
  int number = 0;  // x86-64
  std::string why;
  std::vector<Tests> alternatives;  // or-ed; empty: whatever the arguments
  std::vector<std::string> when;    // the same as text, for people
};

struct SyscallSet {
  std::string name;  // without "@"
  std::string why;
  std::string weakens;  // of kWeakenings (validate.h), or empty
  std::vector<SyscallEntry> entries;
};

struct QuietEntry {
  SyscallEntry call;
  std::uint16_t error = 0;  // 0: succeeds without doing anything
};

struct NeverEntry {
  std::string name;
  int number = 0;
  std::string why;
};

class SyscallTable {
 public:
  // Finds the sections; their content is looked at later. `file` is the name for messages.
  static Result<SyscallTable> read(std::string text, std::string file);
  // Errors: the file is missing, unreadable or too large.
  static Result<SyscallTable> open(const std::string& path);

  [[nodiscard]] std::vector<std::string> set_names() const;  // without "@", in file order

  // Pointers live as long as the table. `set`: null for an unknown name.
  Result<const SyscallSet*> set(std::string_view name) const;
  Result<const std::vector<QuietEntry>*> quiet() const;
  Result<const std::vector<NeverEntry>*> never() const;

  // The sets with an entry of this name or number.
  Result<std::vector<const SyscallSet*>> sets_with(std::string_view name) const;
  Result<std::vector<const SyscallSet*>> sets_with(int number) const;

  // Parses everything and checks that no set holds a call of the never list.
  Result<void> check() const;

 private:
  struct Section {
    std::string name;  // "sets.base", "quiet", "never"
    std::string_view text;
    std::uint32_t line_offset = 0;
  };
  struct Parsed {
    std::mutex mutex;
    std::map<std::string, SyscallSet, std::less<>> sets;
    std::unique_ptr<std::vector<QuietEntry>> quiet;
    std::unique_ptr<std::vector<NeverEntry>> never;
  };

  SyscallTable() = default;
  const Section* section(std::string_view name) const;

  std::string file_;
  std::unique_ptr<const std::string> text_;  // behind a pointer: the sections look into it
  std::vector<Section> sections_;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace policies
