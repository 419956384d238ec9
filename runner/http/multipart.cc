#include "runner/http/multipart.h"

#include <algorithm>

#include "runner/http/file_names.h"

namespace runner::http {
namespace {

constexpr std::string_view kBoundaryCharacters =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'()+_,-./:=? ";

bool is_boundary(std::string_view text) {
  return !text.empty() && text.size() <= 70 && text.back() != ' ' &&
         text.find_first_not_of(kBoundaryCharacters) == std::string_view::npos;
}

bool is_content_disposition(std::string_view name) {
  constexpr std::string_view kName = "content-disposition";
  return std::equal(name.begin(), name.end(), kName.begin(), kName.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

}  // namespace

Multipart::Multipart(const std::string& boundary) : delimiter_("\r\n--" + boundary), held_("\r\n") {
  // The first delimiter may stand at the very beginning, without its CRLF: lend it one.
  if (!is_boundary(boundary)) broken("the boundary is not one");
}

std::optional<std::string> Multipart::boundary_of(std::string_view content_type) {
  const auto header = parse_header_value(content_type);
  if (!header || header->value != "multipart/form-data") return std::nullopt;
  const auto boundary = header->parameters.find("boundary");
  if (boundary == header->parameters.end() || !is_boundary(boundary->second)) return std::nullopt;
  return boundary->second;
}

bool Multipart::broken(std::string what) {
  state_ = State::kBroken;
  error_ = "the multipart body is broken: " + std::move(what);
  return false;
}

bool Multipart::feed(std::string_view bytes) {
  if (state_ == State::kBroken) return false;
  if (state_ == State::kEnd) return true;  // the epilogue is ignored, RFC 2046 section 5.1.1
  held_ += bytes;
  while (step()) {
  }
  return state_ != State::kBroken;
}

bool Multipart::finish() {
  if (state_ == State::kBroken || state_ == State::kEnd) return state_ == State::kEnd;
  return broken("it ends before its last delimiter");
}

// True: something was done, try again. False: more bytes are needed, or it is over.
bool Multipart::step() {
  switch (state_) {
    case State::kPreamble:
      return step_preamble();
    case State::kAfterDelimiter:
      return step_after_delimiter();
    case State::kHeader:
      return step_header();
    case State::kContent:
      return step_content();
    case State::kEnd:
      held_.clear();
      return false;
    case State::kBroken:
      return false;
  }
  return false;
}

bool Multipart::step_preamble() {
  const std::size_t at = held_.find(delimiter_);
  if (at == std::string::npos) {
    if (held_.size() > kMaxPartHeader) return broken("no delimiter at its beginning");
    return false;
  }
  held_.erase(0, at + delimiter_.size());
  state_ = State::kAfterDelimiter;
  return true;
}

bool Multipart::step_after_delimiter() {
  // RFC 2046 allows blanks before the line's end.
  const std::size_t from = std::min(held_.find_first_not_of(" \t"), held_.size());
  if (from > 64) return broken("blanks after a delimiter");
  if (held_.size() - from < 2) return false;
  const std::string_view two = std::string_view(held_).substr(from, 2);
  if (two == "--" && from == 0) {
    state_ = State::kEnd;
    return true;
  }
  if (two != "\r\n") return broken("no line end after a delimiter");
  if (parts_.size() == kMaxParts) return broken("too many parts");
  held_.erase(0, from);  // the CRLF stays: it ends an empty header too
  state_ = State::kHeader;
  return true;
}

bool Multipart::step_header() {
  const std::size_t end = held_.find("\r\n\r\n");
  if (std::min(end, held_.size()) > kMaxPartHeader) return broken("a part's header is too long");
  if (end == std::string::npos) return false;
  const std::string header = held_.substr(2, end == 0 ? 0 : end - 2);
  held_.erase(0, end + 4);
  if (!read_header(header)) return false;
  state_ = State::kContent;
  return true;
}

bool Multipart::read_header(std::string_view header) {
  std::optional<HeaderValue> disposition;
  while (!header.empty()) {
    const std::size_t end = std::min(header.find("\r\n"), header.size());
    const std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 2, header.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.find_first_of("\r\n") != std::string_view::npos) {
      return broken("a part's header has a line that is none");
    }
    if (!is_content_disposition(line.substr(0, colon))) continue;
    if (disposition) return broken("a part has two Content-Disposition lines");
    disposition = parse_header_value(line.substr(colon + 1));
    if (!disposition) return broken("a Content-Disposition cannot be read");
  }
  if (!disposition || disposition->value != "form-data") return broken("a part is no form-data");
  auto& parameters = disposition->parameters;
  const auto name = parameters.find("name");
  if (name == parameters.end()) return broken("a part has no name");
  Part part;
  part.name = name->second;
  if (const auto file = parameters.find("filename"); file != parameters.end()) {
    const bool is_exact = parameters.contains("filename*");
    part.file_name = is_exact ? file->second : form_name_decoded(file->second);
  }
  parts_.push_back(std::move(part));
  return true;
}

bool Multipart::step_content() {
  std::string& content = parts_.back().content;
  const std::size_t at = held_.find(delimiter_);
  if (at != std::string::npos) {
    content.append(held_, 0, at);
    held_.erase(0, at + delimiter_.size());
    state_ = State::kAfterDelimiter;
    return true;
  }
  // The end may be the beginning of a delimiter.
  const std::size_t keep = std::min(held_.size(), delimiter_.size() - 1);
  content.append(held_, 0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return false;
}

}  // namespace runner::http
