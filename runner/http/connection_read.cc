// Connection, the half that reads.
#include "runner/http/connection.h"
#include "runner/http/guard.h"
#include "runner/http/target.h"
#include "runner/text.h"

namespace runner::http {
namespace {

constexpr std::size_t kMaxAhead = std::size_t{64} * 1024;      // of pipelined requests
constexpr std::size_t kFormOverhead = std::size_t{64} * 1024;  // a form's delimiters and headers
constexpr std::uint64_t kUnwanted = std::uint64_t{64} * 1024;  // a body where none belongs

Reply not_allowed(const std::string& allow) {
  Reply reply = error_reply({405, "this path allows " + allow});
  reply.headers.emplace_back("Allow", allow);
  return reply;
}

Reply not_authorized() {
  Reply reply = error_reply({401, "send Authorization: Bearer and a token that is known here"});
  reply.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"sandglass\"");
  return reply;
}

}  // namespace

void Connection::wait_readable() {
  if (is_reading_ || input_ended_ || phase_ == Phase::kClosed) return;
  // Reading ahead while we answer serves to hear that the client has gone.
  if (in_.size() >= kMaxAhead) return;
  is_reading_ = true;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const auto& error) {
    self->is_reading_ = false;
    if (error || self->phase_ == Phase::kClosed) return;
    self->on_readable();
  });
}

void Connection::on_readable() {
  boost::system::error_code error;
  const std::size_t got = socket_.read_some(boost::asio::buffer(room_->scratch), error);
  if (error == boost::asio::error::would_block || error == boost::asio::error::try_again) {
    return wait_readable();
  }
  if (error == boost::asio::error::eof) {
    input_ended_ = true;
    return on_end_of_input();
  }
  if (error) return abandon();
  if (phase_ == Phase::kLingering) return wait_readable();
  in_.append(room_->scratch.data(), got);
  if (phase_ == Phase::kBody) set_deadline(room_->options.timeouts.body_stall);
  advance();
  wait_readable();
}

void Connection::on_end_of_input() {
  switch (phase_) {
    case Phase::kIdle:
    case Phase::kHeader:
    case Phase::kBody:
    case Phase::kLingering:
      return abandon();
    case Phase::kAnswering:
    case Phase::kStreaming:
      // A client may close its sending side and still read: RFC 9112 section 9.6.
      if (responder_) responder_->on_half_closed();
      return;
    case Phase::kWriting:
    case Phase::kClosed:
      return;
  }
}

// Uses what has been read, as far as the phase allows.
void Connection::advance() {
  if (phase_ == Phase::kIdle && !in_.empty()) {
    phase_ = Phase::kHeader;
    set_deadline(room_->options.timeouts.header);
    reader_.emplace();
  }
  if (phase_ == Phase::kHeader) {
    in_.erase(0, reader_->feed(in_));
    if (reader_->state() == RequestReader::State::kBroken) return on_broken();
    if (reader_->state() != RequestReader::State::kHeader) on_head();
  }
  if (phase_ != Phase::kBody) return;
  in_.erase(0, reader_->feed(in_));
  if (in_.empty()) in_.shrink_to_fit();
  if (reader_->state() == RequestReader::State::kDone) return on_request();
  if (reader_->state() == RequestReader::State::kBroken) return on_broken();
  if (reader_->state() == RequestReader::State::kRefusedBySink) {
    keep_alive_ = false;
    const bool is_form = request_->multipart && !request_->multipart->error().empty();
    return reply(is_form ? error_reply({400, request_->multipart->error()})
                         : error_reply({503, "too many bodies are being read; try again"}));
  }
  // What the parser does not use is the line of a chunk's size; nobody needs a long one.
  if (in_.size() > kMaxHeader) {
    keep_alive_ = false;
    return reply(error_reply({400, "a chunk's header is too long"}));
  }
}

void Connection::on_broken() {
  keep_alive_ = false;
  reply(error_reply(reader_->error()));
}

void Connection::on_head() {
  Head& head = reader_->head();
  is_head_request_ = head.method == "HEAD";
  version_ = head.version;
  keep_alive_ = head.keep_alive && !room_->is_stopping;
  request_.emplace();
  if (auto refused = admit(head)) {
    // The body has not been read: what follows cannot be told from it without reading it.
    if (head.has_body) keep_alive_ = false;
    return reply(std::move(*refused));
  }
  if (reader_->state() == RequestReader::State::kDone) return on_request();
  phase_ = Phase::kBody;
  body_began_ = Clock::now();
  set_deadline(room_->options.timeouts.body_stall);
  if (head.expects_continue && head.version == 11 && in_.empty()) {
    // RFC 9110 section 10.1.1. Thirty bytes into an empty buffer; if they do not fit, the client
    // is no worse off than with a server that does not know Expect.
    boost::system::error_code ignored;
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    socket_.write_some(boost::asio::buffer(kContinue), ignored);
  }
}

// Everything that can be refused before the body is read.
std::optional<Reply> Connection::admit(Head& head) {
  auto target = parse_target(head.target);
  if (!target) return error_reply({400, "this target is no path of an API"});
  const std::string& host = target->authority.empty() ? head.host : target->authority;
  if (room_->checks_origin) {
    if (!is_allowed_host(host, room_->options.allowed_hosts)) {
      return error_reply(
          {403, "this Host is not served here; start with --allow-host to allow it"});
    }
    if (head.has_origin && !is_same_origin(head.origin, host)) {
      return error_reply({403, "pages of other origins are not served"});
    }
  }
  Match found = match(head.method, target->segments);
  if (found.route == nullptr && head.method == "OPTIONS" && !found.allow.empty()) {
    return Reply{204, "", "", {{"Allow", found.allow}}};
  }
  const bool is_open = found.route != nullptr && found.route->access == Access::kOpen;
  if (room_->options.tokens.are_required() && !is_open) {
    const auto tenant = room_->options.tokens.tenant_of(head.authorization);
    if (!tenant) return not_authorized();
    request_->tenant = *tenant;
  }
  if (found.route == nullptr) {
    if (!found.allow.empty()) return not_allowed(found.allow);
    return error_reply({404, "there is nothing at this path; /openapi.json lists what there is"});
  }
  if (const auto twice = duplicate_name(target->query)) {
    const std::string name = printable(twice->substr(0, 64));
    return error_reply({400, "'" + name + "' stands twice in the query", name});
  }
  request_->action = found.route->action;
  request_->ids = std::move(found.ids);
  request_->query = std::move(target->query);
  request_->content_type = std::move(head.content_type);
  request_->accept = std::move(head.accept);
  request_->file_name = std::move(head.file_name);
  request_->disposition = std::move(head.disposition);
  request_->mcp = std::move(head.mcp);
  return prepare_body(head, *found.route);
}

std::optional<Reply> Connection::prepare_body(const Head& head, const Route& route) {
  std::uint64_t limit = kUnwanted;
  if (route.body == BodyCap::kJson) limit = room_->options.max_json.value;
  if (route.body == BodyCap::kCode) limit = room_->options.max_code.value;
  if (route.body == BodyCap::kFile) {
    limit = room_->service.max_file().value;
    if (request_->content_type.find("multipart/") != std::string::npos) {
      limit += kFormOverhead;
      const auto boundary = Multipart::boundary_of(request_->content_type);
      if (!boundary) return error_reply({400, "the form's boundary is missing or wrong"});
      request_->multipart.emplace(*boundary);
    }
  }
  if (head.content_length.value_or(0) > limit) {
    return error_reply(
        {413,
         route.body == BodyCap::kFile
             ? "the file is larger than " + size_text(room_->service.max_file()) +
                   ", the limit for one file"
             : "the body is larger than " + size_text(jail::Bytes{limit}) + ", the limit here"});
  }
  const bool is_wanted = route.body != BodyCap::kNone;
  reader_->take_body(
      limit, [this, is_wanted](std::string_view bytes) { return !is_wanted || take_body(bytes); });
  return std::nullopt;
}

bool Connection::take_body(std::string_view bytes) {
  if (room_->body_bytes + bytes.size() > room_->options.body_memory.value) return false;
  room_->body_bytes += bytes.size();
  body_held_ += bytes.size();
  room_->metrics.bytes_in += bytes.size();
  if (request_->multipart) return request_->multipart->feed(bytes);
  request_->body += bytes;
  return true;
}

void Connection::on_request() {
  request_done_ = Clock::now();
  phase_ = Phase::kAnswering;
  deadline_ = Clock::time_point::max();
  reader_.reset();
  if (request_->multipart && !request_->multipart->finish()) {
    return reply(error_reply({400, request_->multipart->error()}));
  }
  Request request = std::move(*request_);
  request_.reset();
  tenant_ = request.tenant;
  room_->handlers.handle(request, shared_from_this());
  // Whoever answers later holds what was sent until then.
  if (phase_ == Phase::kAnswering) return;
  room_->body_bytes -= std::exchange(body_held_, 0);
}

}  // namespace runner::http
