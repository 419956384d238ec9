// Who may come in: bearer tokens (RFC 6750), each with the tenant it stands for.
// Immutable once read; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/error.h"
#include "runner/service.h"

namespace runner::http {

class Tokens {
 public:
  // No tokens: whoever comes is the empty tenant.
  Tokens() = default;

  // One a line, `name:token` or a bare token, which is its own tenant. Blank lines and lines that
  // begin with "#" are skipped. kUsage with the line's number, never with its text: a token under
  // 16 characters or with others than RFC 6750 allows, a name or token that stands twice, no token
  // at all.
  static Result<Tokens> parse(std::string_view text);

  // kFiles: the file cannot be read. kUsage: it is readable by others than its owner and group, or
  // as parse() says.
  static Result<Tokens> read(const std::string& path);

  [[nodiscard]] bool are_required() const { return !entries_.empty(); }

  // The tokens themselves, in the file's order: for a client of our own.
  [[nodiscard]] std::vector<std::string> words() const;

  // From an Authorization header. The time taken depends on the lengths and number of tokens and
  // not on how much of one was guessed. nullopt: nobody we know.
  [[nodiscard]] std::optional<Tenant> tenant_of(std::string_view authorization) const;

 private:
  struct Entry {
    Tenant tenant;
    std::string token;
  };
  std::vector<Entry> entries_;
};

}  // namespace runner::http
