// Inside this room only: a TOML text as a tree, with the refusals that toml++ leaves to us (size,
// nesting) and readers that know where each value stands. Errors are thrown as `Error` and caught
// at the room's public functions. Any thread; one object is not to be shared while it is read.
#pragma once

#define TOML_HEADER_ONLY 0  // compiled once, in toml_impl.cc
// Its parser (3.3) asserts of a key's first character what bad input can break, and reports an
// error right after.
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "policies/error.h"

namespace policies {

inline constexpr std::size_t kMaxTomlBytes = std::size_t{1} << 20U;
inline constexpr int kMaxTomlBrackets = 16;  // of arrays and inline tables within each other
inline constexpr int kMaxTomlDots = 8;       // in one dotted key

class TomlReader {
 public:
  // `text` has passed check_shape; `line_offset` lines stand before it in the file. Throws Error.
  TomlReader(std::string_view text, std::string file, std::uint32_t line_offset);

  [[nodiscard]] const toml::table& root() const { return root_; }
  [[nodiscard]] const std::string& file() const { return file_; }

  // "tight.toml:12:9"
  [[nodiscard]] std::string place(const toml::source_region& region) const;

  // Throws "PLACE: PATH: WHAT".
  [[noreturn]] void refuse(const toml::source_region& region, std::string_view path,
                           std::string_view what) const;

  // Throws for the first key of `table` that is not `known`.
  void only(const toml::table& table, std::string_view path,
            std::initializer_list<std::string_view> known) const;

  // The value as the wanted type, or a refusal that says what to write. Strings are not empty, have
  // at most 4096 bytes and no control characters.
  const toml::table& table(const toml::node& node, std::string_view path) const;
  std::string string(const toml::node& node, std::string_view path) const;
  std::int64_t integer(const toml::node& node, std::string_view path) const;
  bool boolean(const toml::node& node, std::string_view path) const;
  const toml::array& array(const toml::node& node, std::string_view path) const;
  std::vector<std::string> strings(const toml::node& node, std::string_view path) const;

 private:
  std::string file_;
  std::uint32_t line_offset_ = 0;
  toml::table root_;
};

// Throws unless the text is small, flat and free of NUL enough to be parsed by recursion.
void check_shape(std::string_view text, const std::string& file);

}  // namespace policies
