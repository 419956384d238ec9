// The bytes of one request, made into a head and a body: Boost.Beast's parser, and the strictness
// against request smuggling that it leaves to its caller. No I/O; one object a request.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runner/wire/errors_json.h"

namespace runner::http {

inline constexpr std::uint32_t kMaxHeader = 16 * 1024;

struct Head {
  std::string method;
  std::string target;
  int version = 11;
  bool keep_alive = false;
  bool has_body = false;
  bool expects_continue = false;
  std::optional<std::uint64_t> content_length;
  bool has_origin = false;
  std::string host;
  std::string origin;
  std::string authorization;
  std::string content_type;
  std::string accept;
  std::string file_name;                   // X-Filename
  std::string disposition;                 // Content-Disposition
  std::map<std::string, std::string> mcp;  // those that begin with "mcp-", in lower case
};

class RequestReader {
 public:
  // Takes the body as it comes; false stops the reading with `kRefusedBySink`.
  using BodySink = std::function<bool(std::string_view)>;

  RequestReader();
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;
  RequestReader(RequestReader&&) = delete;
  RequestReader& operator=(RequestReader&&) = delete;

  enum class State : std::uint8_t { kHeader, kBody, kDone, kBroken, kRefusedBySink };

  // How many of the bytes were used; the rest is to be given again, with what comes behind it.
  // Stops behind the header, and behind the request.
  std::size_t feed(std::string_view bytes);

  [[nodiscard]] State state() const;
  [[nodiscard]] Head& head();  // from kBody or kDone on
  // Before the body: how large it may be, and where it goes.
  void take_body(std::uint64_t limit, BodySink sink);
  // With kBroken: 400, 413, 431 or 505, and why. Nothing after it can be trusted: close.
  [[nodiscard]] const wire::ErrorBody& error() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace runner::http
