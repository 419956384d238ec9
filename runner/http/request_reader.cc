#include "runner/http/request_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "runner/text.h"

namespace runner::http {

namespace beast = boost::beast;
using Field = beast::http::field;
using BeastError = beast::http::error;
using Code = beast::error_code;

struct RequestReader::Parser final : beast::http::basic_parser<true> {
  State phase = State::kHeader;
  Head head;
  BodySink sink;
  std::uint64_t limit = 0;
  wire::ErrorBody wrong;
  int hosts = 0;
  int lengths = 0;
  int encodings = 0;
  int authorizations = 0;
  int origins = 0;
  int types = 0;
  int dispositions = 0;
  int file_names = 0;
  bool is_plainly_chunked = false;
  bool in_trailer = false;
  bool sink_refused = false;

  Parser() {
    header_limit(kMaxHeader);
    body_limit(boost::none);  // our own, once the route is known
  }

  void keep(Field name, beast::string_view key, beast::string_view value);
  void keep_mcp(beast::string_view key, beast::string_view value);
  void check_head();
  void broken(unsigned status, std::string message);

  void on_request_impl(beast::http::verb /*verb*/, beast::string_view method,
                       beast::string_view target, int version, Code& /*error*/) override {
    head.method = std::string(method);
    head.target = std::string(target);
    head.version = version;
  }
  void on_response_impl(int /*code*/, beast::string_view /*reason*/, int /*version*/,
                        Code& /*error*/) override {}
  void on_field_impl(Field name, beast::string_view key, beast::string_view value,
                     Code& /*error*/) override {
    // RFC 9110 section 6.5.1: what comes in trailers must not be taken for a header.
    if (!in_trailer) keep(name, key, value);
  }
  void on_header_impl(Code& /*error*/) override { in_trailer = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                         Code& /*error*/) override {}
  std::size_t on_body_impl(beast::string_view body, Code& error) override {
    sink_refused = sink && !sink({body.data(), body.size()});
    if (sink_refused) error = BeastError::body_limit;  // any error stops the parser
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t /*size*/, beast::string_view /*extensions*/,
                            Code& /*error*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, beast::string_view body,
                                 Code& error) override {
    return on_body_impl(body, error);
  }
  void on_finish_impl(Code& /*error*/) override {}
};

void RequestReader::Parser::keep(Field name, beast::string_view key, beast::string_view value) {
  switch (name) {
    case Field::host:
      ++hosts;
      head.host = std::string(value);
      return;
    case Field::content_length:
      ++lengths;
      return;
    case Field::transfer_encoding:
      ++encodings;
      is_plainly_chunked = beast::iequals(value, "chunked");
      return;
    case Field::authorization:
      ++authorizations;
      head.authorization = std::string(value);
      return;
    case Field::origin:
      ++origins;
      head.has_origin = true;
      head.origin = std::string(value);
      return;
    case Field::content_type:
      ++types;
      head.content_type = std::string(value);
      return;
    case Field::accept:
      head.accept += (head.accept.empty() ? "" : ", ") + std::string(value);
      return;
    case Field::content_disposition:
      ++dispositions;
      head.disposition = std::string(value);
      return;
    case Field::expect:
      head.expects_continue = beast::iequals(value, "100-continue");
      return;
    default:
      if (beast::iequals(key, "x-filename")) {
        ++file_names;
        head.file_name = std::string(value);
      }
      if (beast::iequals(key.substr(0, 4), "mcp-")) keep_mcp(key, value);
  }
}

// One that stands twice reads as both, and so as neither.
void RequestReader::Parser::keep_mcp(beast::string_view key, beast::string_view value) {
  std::string name(key);
  for (char& c : name) c = beast::detail::ascii_tolower(c);
  std::string& into = head.mcp[name];
  into += (into.empty() ? "" : ", ") + std::string(value);
}

void RequestReader::Parser::broken(unsigned status, std::string message) {
  phase = State::kBroken;
  wrong = {status, std::move(message)};
}

// RFC 9112 sections 3.2, 6.1 and 6.3: two readings of one request are how requests are smuggled
// past a proxy, so whatever can be read in two ways is refused.
void RequestReader::Parser::check_head() {
  if (head.version != 10 && head.version != 11) return broken(505, "HTTP/1.1 is spoken here");
  for (const auto& [count, name] :
       {std::pair{hosts, "Host"}, std::pair{lengths, "Content-Length"},
        std::pair{encodings, "Transfer-Encoding"}, std::pair{authorizations, "Authorization"},
        std::pair{origins, "Origin"}, std::pair{types, "Content-Type"},
        std::pair{dispositions, "Content-Disposition"}, std::pair{file_names, "X-Filename"}})
    if (count > 1) return broken(400, std::string("more than one ") + name + " header");
  if (hosts == 0 && head.version == 11) return broken(400, "no Host header");
  if (encodings > 0 && lengths > 0) {
    return broken(400, "both Content-Length and Transfer-Encoding");
  }
  if (encodings > 0 && (!is_plainly_chunked || head.version == 10)) {
    return broken(400, "a Transfer-Encoding other than chunked");
  }
  const auto length = content_length();
  if (length) head.content_length = *length;
  head.keep_alive = keep_alive();
  head.has_body = chunked() || head.content_length.value_or(0) > 0;
  phase = is_done() ? State::kDone : State::kBody;
}

RequestReader::RequestReader() : parser_(std::make_unique<Parser>()) {}
RequestReader::~RequestReader() = default;

RequestReader::State RequestReader::state() const { return parser_->phase; }
Head& RequestReader::head() { return parser_->head; }
const wire::ErrorBody& RequestReader::error() const { return parser_->wrong; }

void RequestReader::take_body(std::uint64_t limit, BodySink sink) {
  parser_->limit = limit;
  parser_->sink = std::move(sink);
  parser_->body_limit(limit);
}

std::size_t RequestReader::feed(std::string_view bytes) {
  Parser& parser = *parser_;
  if (parser.phase != State::kHeader && parser.phase != State::kBody) return 0;
  Code error;
  std::size_t used = 0;
  if (!parser.got_some()) {
    // RFC 9112 section 2.2: empty lines before a request are to be ignored.
    while (bytes.substr(used).starts_with("\r\n")) used += 2;
    if (bytes.substr(used) == "\r") return used;  // half of one, perhaps
  }
  while (used < bytes.size()) {
    const auto rest = bytes.substr(used);
    const std::size_t now = parser.put(boost::asio::buffer(rest.data(), rest.size()), error);
    used += now;
    const bool header_ended = parser.phase == State::kHeader && parser.is_header_done();
    if (error || header_ended || parser.is_done() || now == 0) break;
  }
  if (error == BeastError::need_more) error = {};
  if (error) {
    const bool too_large = error == BeastError::body_limit;
    if (parser.sink_refused) {
      parser.phase = State::kRefusedBySink;
    } else if (too_large) {
      parser.broken(413, "the body is larger than " + size_text(jail::Bytes{parser.limit}) +
                             ", the limit here");
    } else if (error == BeastError::header_limit) {
      parser.broken(431, "the header is larger than " + size_text(jail::Bytes{kMaxHeader}));
    } else if (error == BeastError::bad_version) {
      parser.broken(505, "HTTP/1.1 is spoken here");
    } else {
      parser.broken(400, "this is not HTTP/1.1: " + error.message());
    }
    return used;
  }
  if (parser.phase == State::kHeader && parser.is_header_done()) {
    parser.check_head();
  } else if (parser.phase == State::kBody && parser.is_done()) {
    parser.phase = State::kDone;
  }
  return used;
}

}  // namespace runner::http
