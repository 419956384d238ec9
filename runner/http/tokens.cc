#include "runner/http/tokens.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <boost/uuid/detail/sha1.hpp>
#include <cerrno>

#include "jail/fd.h"
#include "runner/text.h"

namespace runner::http {
namespace {

constexpr std::size_t kMinToken = 16;
constexpr std::size_t kMaxFile = std::size_t{1} << 20U;

// RFC 6750 section 2.1: b64token.
bool is_token(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("-._~+/=").find(c) != std::string_view::npos;
  });
}

// A name for logs that does not give the token away. Not a matter of collisions: tokens are ours.
std::string name_for(std::string_view token) {
  boost::uuids::detail::sha1 hash;
  hash.process_bytes(token.data(), token.size());
  unsigned words[5] = {};  // NOLINT(cppcoreguidelines-avoid-c-arrays): the type get_digest takes
  hash.get_digest(words);
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "token-%08x", words[0]);
  return text.data();
}

// 1 if equal, without an early end. `volatile` keeps the compiler from making one.
unsigned equal(std::string_view given, std::string_view wanted) {
  volatile unsigned difference = given.size() == wanted.size() ? 0U : 1U;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const char c = given.empty() ? '\0' : given[i % given.size()];
    difference =
        difference | (static_cast<unsigned char>(c) ^ static_cast<unsigned char>(wanted[i]));
  }
  return difference == 0 ? 1U : 0U;
}

std::string_view trimmed(std::string_view line) {
  const std::size_t from = std::min(line.find_first_not_of(" \t\r"), line.size());
  line.remove_prefix(from);
  const std::size_t last = line.find_last_not_of(" \t\r");
  return line.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

Result<Tokens> Tokens::parse(std::string_view text) {
  Tokens tokens;
  const auto wrong = [](std::size_t number, const char* what) {
    return fail(ErrorKind::kUsage,
                "token file, line " + std::to_string(number) + ": " + std::string(what));
  };
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t colon = line.find(':');
    const bool is_named = colon != std::string_view::npos;
    const std::string_view token = is_named ? trimmed(line.substr(colon + 1)) : line;
    Entry entry{std::string(is_named ? trimmed(line.substr(0, colon)) : ""), std::string(token)};
    if (is_named && entry.tenant.empty())
      return wrong(number, "a name must stand before the colon");
    if (token.size() < kMinToken) return wrong(number, "a token has at least 16 characters");
    if (!is_token(token)) return wrong(number, "a token has only A-Z a-z 0-9 - . _ ~ + / =");
    if (!is_named) entry.tenant = name_for(token);
    for (const Entry& other : tokens.entries_) {
      if (other.token == entry.token) return wrong(number, "this token stands there twice");
      if (other.tenant == entry.tenant) return wrong(number, "this name stands there twice");
    }
    tokens.entries_.push_back(std::move(entry));
  }
  if (tokens.entries_.empty()) {
    return fail(ErrorKind::kUsage, "token file: no token in it; write one a line, as name:token");
  }
  return tokens;
}

Result<Tokens> Tokens::read(const std::string& path) {
  const auto cannot = [&path](int error) {
    return fail(ErrorKind::kFiles,
                "token file " + printable(path) + " cannot be read: " + jail::errno_name(error));
  };
  const jail::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return cannot(errno);
  if ((status.st_mode & S_IRWXO) != 0) {
    return fail(ErrorKind::kUsage,
                "token file " + printable(path) + " is open to everybody; chmod 600 it");
  }
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0) return cannot(errno);
    if (got == 0) return parse(text);
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxFile) return cannot(EFBIG);
  }
}

std::vector<std::string> Tokens::words() const {
  std::vector<std::string> words;
  words.reserve(entries_.size());
  for (const Entry& entry : entries_) words.push_back(entry.token);
  return words;
}

std::optional<Tenant> Tokens::tenant_of(std::string_view authorization) const {
  constexpr std::string_view kScheme = "bearer ";
  std::string scheme(authorization.substr(0, kScheme.size()));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const bool is_bearer = scheme == kScheme;
  const std::string_view given =
      is_bearer ? trimmed(authorization.substr(kScheme.size())) : std::string_view{};
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (equal(given, entry.token) != 0) found = &entry;
  }
  if (found == nullptr) return std::nullopt;
  return found->tenant;
}

}  // namespace runner::http
