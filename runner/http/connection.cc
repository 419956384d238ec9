// Connection, the half that writes, and its life.
#include "runner/http/connection.h"

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>

namespace runner::http {
namespace {

constexpr std::size_t kKeepBuffer = 4096;
constexpr std::size_t kLittle = std::size_t{16} * 1024;  // of a reply: not worth counting

const char* reason_of(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

// What no reply of an API that runs foreign code should be without: nothing is sniffed, kept,
// framed or run by a browser.
constexpr std::string_view kGuards =
    "X-Content-Type-Options: nosniff\r\n"
    "Cache-Control: no-store\r\n"
    "X-Frame-Options: DENY\r\n"
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'; sandbox\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Referrer-Policy: no-referrer\r\n";

std::string head_text(unsigned status, std::string_view content_type, int version) {
  std::string head = version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  head += std::to_string(status) + " " + reason_of(status) + "\r\n";
  head += kGuards;
  if (!content_type.empty()) head += "Content-Type: " + std::string(content_type) + "\r\n";
  return head;
}

}  // namespace

Connection::Connection(Socket socket, std::shared_ptr<Room> room)
    : socket_(std::move(socket)), room_(std::move(room)), timer_(socket_.get_executor()) {
  ++room_->metrics.connections_accepted;
  ++room_->metrics.connections_open;
}

Connection::~Connection() {
  if (share_) room_->outgoing.close(*share_);
  room_->body_bytes -= body_held_;
  --room_->metrics.connections_open;
}

void Connection::start() {
  place_ = room_->open.insert(room_->open.end(), shared_from_this());
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
  to_idle();
  wait_readable();
}

// Among the open ones, those idle for longest stand first.
void Connection::to_idle() {
  phase_ = Phase::kIdle;
  room_->open.splice(room_->open.end(), room_->open, place_);
  set_deadline(room_->options.timeouts.idle);
}

void Connection::stop() {
  keep_alive_ = false;
  if (phase_ == Phase::kIdle) return abandon();
  if (responder_) {
    const auto responder = responder_;
    responder->on_shutdown();
  }
}

void Connection::abandon() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  const auto self = shared_from_this();  // the handlers that held us are let go now
  boost::system::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  room_->open.erase(place_);
  account();
  if (const auto responder = std::exchange(responder_, nullptr)) responder->on_gone();
  if (room_->on_closed) room_->on_closed();
}

void Connection::reply(Reply reply) {
  if (phase_ == Phase::kClosed || phase_ == Phase::kWriting || phase_ == Phase::kStreaming) return;
  if (reply.body.size() > kLittle && !is_head_request_ &&
      !room_->outgoing.make_room(reply.body.size() + kLittle, Outgoing::Need::kCanWait)) {
    reply = error_reply({503, "too many replies wait for their clients; try again"});
    reply.headers.emplace_back("Retry-After", "1");
  }
  ++room_->metrics.replies[reply.status];
  std::string head = head_text(reply.status, reply.content_type, version_);
  for (const auto& [name, value] : reply.headers) head += name + ": " + value + "\r\n";
  if (reply.status != 204) head += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
  if (!keep_alive_) head += "Connection: close\r\n";
  if (keep_alive_ && version_ == 10) head += "Connection: keep-alive\r\n";
  head += "\r\n";
  queue_ = std::move(head);
  phase_ = Phase::kWriting;
  const bool has_body = !is_head_request_ && !reply.body.empty();
  if (has_body && reply.body.size() <= kLittle) queue_ += reply.body;
  write_some();
  if (!has_body || reply.body.size() <= kLittle) return;
  // Behind its head, as it is: a copy of many megabytes would hold others up.
  queue_ = std::move(reply.body);
  account();
}

void Connection::expect(std::shared_ptr<Responder> responder) {
  if (phase_ != Phase::kAnswering) return responder->on_gone();
  responder_ = std::move(responder);
  if (input_ended_) responder_->on_half_closed();
}

void Connection::begin_stream(const char* content_type) {
  if (phase_ != Phase::kAnswering) return;
  ++room_->metrics.replies[200];
  phase_ = Phase::kStreaming;
  stream_ended_ = false;
  is_chunked_ = version_ == 11;
  // RFC 9112 section 6.3: to a client of HTTP/1.0 only the close marks the end.
  if (!is_chunked_) keep_alive_ = false;
  queue_ = head_text(200, content_type, version_);
  queue_ += "X-Accel-Buffering: no\r\n";  // nginx would gather the events
  if (is_chunked_) queue_ += "Transfer-Encoding: chunked\r\n";
  if (!keep_alive_) queue_ += "Connection: close\r\n";
  queue_ += "\r\n";
  set_deadline(room_->options.timeouts.keep_alive);
  write_some();
}

void Connection::send(std::string_view bytes) {
  if (phase_ != Phase::kStreaming || stream_ended_ || bytes.empty()) return;
  if (is_chunked_) {
    std::array<char, 24> size{};
    std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
    queue_ += size.data();
  }
  queue_ += bytes;
  if (is_chunked_) queue_ += "\r\n";
  write_some();
}

void Connection::end_stream() {
  if (phase_ != Phase::kStreaming || stream_ended_) return;
  stream_ended_ = true;
  if (is_chunked_) queue_ += "0\r\n\r\n";
  write_some();
}

// What waits for this client, as far as others' replies need to know.
void Connection::account() {
  const std::size_t waits = phase_ == Phase::kClosed ? 0 : queued();
  if (waits <= kLittle && !share_) return;
  if (waits <= kLittle)
    room_->outgoing.close(*std::exchange(share_, std::nullopt));
  else
    claim(waits);
  room_->metrics.bytes_waiting = room_->outgoing.bytes();
  room_->metrics.replies_cut = room_->outgoing.cut();
}

void Connection::claim(std::size_t waits) {
  if (!share_)
    share_ = room_->outgoing.open(
        {tenant_, 0, std::nullopt, [weak = weak_from_this(), executor = socket_.get_executor()] {
           boost::asio::post(executor, [weak] {
             if (const auto self = weak.lock()) self->abandon();
           });
         }});
  Outgoing::Share& share = **share_;
  const bool is_whole = phase_ == Phase::kWriting || stream_ended_;
  if (is_whole && !share.whole_since) share.whole_since = Outgoing::Clock::now();
  const bool grows = waits > share.bytes;
  room_->outgoing.set(*share_, waits);
  // A stream can't be told to try again.
  if (grows) (void)room_->outgoing.make_room(0, Outgoing::Need::kMust);
}

void Connection::write_some() {
  account();
  if (!writing_.empty() || phase_ == Phase::kClosed) return;
  if (queue_.empty()) return;
  writing_ = std::exchange(queue_, {});
  written_ = 0;
  set_deadline(room_->options.timeouts.write_stall);
  on_written(0);
}

void Connection::on_written(std::size_t bytes) {
  room_->metrics.bytes_out += bytes;
  written_ += bytes;
  if (bytes > 0) set_deadline(room_->options.timeouts.write_stall);
  if (written_ == writing_.size()) return on_all_written();
  const auto rest = boost::asio::buffer(writing_) + written_;
  socket_.async_write_some(rest, [self = shared_from_this()](const auto& error, std::size_t n) {
    if (self->phase_ == Phase::kClosed) return;
    if (error) return self->abandon();
    self->on_written(n);
  });
}

void Connection::on_all_written() {
  writing_.clear();
  if (writing_.capacity() > kKeepBuffer) writing_.shrink_to_fit();
  account();
  if (phase_ == Phase::kStreaming && !stream_ended_) {
    set_deadline(room_->options.timeouts.keep_alive);
    if (!queue_.empty()) write_some();
    // Under half the limit: one event may have been large, and is gone now.
    if (responder_ && queued() <= room_->options.stream_queue.value / 2) responder_->on_drained();
    return;
  }
  if (!queue_.empty()) return write_some();
  next_request();
}

void Connection::next_request() {
  const std::chrono::duration<double> took = Clock::now() - request_done_;
  if (request_done_ != Clock::time_point{}) room_->metrics.request_duration.add(took.count());
  request_done_ = {};
  responder_.reset();
  reader_.reset();
  request_.reset();
  room_->body_bytes -= std::exchange(body_held_, 0);
  if (!keep_alive_ || room_->is_stopping) return linger();
  to_idle();
  // Pipelined requests are answered one after the other, by way of the loop: no recursion.
  if (in_.empty()) {
    if (input_ended_) return abandon();
    in_.shrink_to_fit();
    return wait_readable();
  }
  advance();
  if ((phase_ == Phase::kHeader || phase_ == Phase::kBody) && input_ended_) return abandon();
  wait_readable();
}

// RFC 9112 section 9.6: closing while the client still sends would reset the connection, and the
// client might never read our reply.
void Connection::linger() {
  if (input_ended_) return abandon();
  phase_ = Phase::kLingering;
  in_.clear();
  in_.shrink_to_fit();
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  set_deadline(room_->options.timeouts.linger);
  wait_readable();
}

void Connection::set_deadline(jail::Millis from_now) {
  deadline_ = Clock::now() + from_now;
  if (phase_ == Phase::kBody) {
    deadline_ = std::min(deadline_, body_began_ + room_->options.timeouts.body);
  }
  // The timer may ring early: it is wound again then. So most requests never touch it.
  if (deadline_ < timer_at_) wait_deadline();
}

void Connection::wait_deadline() {
  timer_at_ = deadline_;
  timer_.expires_at(timer_at_);
  timer_.async_wait([weak = weak_from_this()](const auto& error) {
    const auto self = weak.lock();
    if (error || !self || self->phase_ == Phase::kClosed) return;
    self->timer_at_ = Clock::time_point::max();
    if (Clock::now() >= self->deadline_) self->on_deadline();
    const bool is_over = self->phase_ == Phase::kClosed;
    const bool has_deadline = self->deadline_ != Clock::time_point::max();
    if (!is_over && has_deadline && self->timer_at_ == Clock::time_point::max()) {
      self->wait_deadline();
    }
  });
}

void Connection::on_deadline() {
  deadline_ = Clock::time_point::max();
  switch (phase_) {
    case Phase::kHeader:
    case Phase::kBody:
      keep_alive_ = false;
      return reply(error_reply({408, "the request was too long in coming"}));
    case Phase::kStreaming:
      if (writing_.empty()) {
        if (responder_) responder_->on_tick();
        return;
      }
      ++room_->metrics.streams_cut;
      return abandon();
    case Phase::kIdle:
    case Phase::kWriting:
    case Phase::kLingering:
      return abandon();
    case Phase::kAnswering:
    case Phase::kClosed:
      return;
  }
}

}  // namespace runner::http
