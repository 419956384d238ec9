// multipart/form-data (RFC 7578, RFC 2046), read as it arrives. Strict: a part without a name, a
// header over 8 KiB, a body without its last delimiter or with more than `kMaxParts` parts is
// refused. What a part holds goes straight to its string; beside that at most a header or a
// delimiter is held back. One object a body; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace runner::http {

class Multipart {
 public:
  static constexpr std::size_t kMaxParts = 16;
  static constexpr std::size_t kMaxPartHeader = 8192;

  struct Part {
    std::string name;
    std::optional<std::string> file_name;  // decoded
    std::string content;
  };

  // RFC 2046: 1 to 70 characters. Anything else makes a parser that refuses.
  explicit Multipart(const std::string& boundary);

  // False: the body is broken; error() says how.
  bool feed(std::string_view bytes);
  // After the last byte: whether the body was whole.
  bool finish();

  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] std::vector<Part>& parts() { return parts_; }

  // From a Content-Type; nullopt: not multipart/form-data with a sound boundary.
  static std::optional<std::string> boundary_of(std::string_view content_type);

 private:
  enum class State : std::uint8_t { kPreamble, kAfterDelimiter, kHeader, kContent, kEnd, kBroken };

  bool step();
  bool step_preamble();
  bool step_after_delimiter();
  bool step_header();
  bool step_content();
  bool read_header(std::string_view header);
  bool broken(std::string what);

  std::string delimiter_;  // CRLF "--" boundary
  State state_ = State::kPreamble;
  std::string held_;
  std::vector<Part> parts_;
  std::string error_;
};

}  // namespace runner::http
