#include "runner/mcp/stdio.h"

#include <array>
#include <cerrno>
#include <utility>

#include "runner/text.h"

namespace runner::mcp {
namespace {

constexpr std::size_t kChunk = std::size_t{64} * 1024;
constexpr std::size_t kQuiet = std::size_t{64} * 1024;  // queued above it: no progress is told
constexpr std::size_t kKeep = std::size_t{64} * 1024;   // of a buffer that has been emptied
constexpr std::chrono::milliseconds kLook{10};

bool is_passing(int error) { return error == EAGAIN || error == EINTR; }

void give_back(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeep) buffer.shrink_to_fit();
}

}  // namespace

class Stdio::PipeOutlet final : public Outlet {
 public:
  explicit PipeOutlet(std::weak_ptr<Stdio> pipe) : pipe_(std::move(pipe)) {}
  void notify(const std::string& message) override {
    const auto pipe = pipe_.lock();
    if (pipe && !message.empty() && pipe->queued() < kQuiet) pipe->send(message);
  }
  void answer(const std::string& message, std::optional<Code> /*failure*/) override {
    if (const auto pipe = pipe_.lock()) pipe->send(message);
  }
  void drop() override {}

 private:
  std::weak_ptr<Stdio> pipe_;
};

Stdio::Stdio(boost::asio::io_context& loop, Desk& desk, const StdioOptions& options,
             std::function<void()> done)
    : desk_(desk),
      options_(options),
      done_(std::move(done)),
      input_(loop, options.in, Direction::kRead),
      output_(loop, options.out, Direction::kWrite),
      timer_(loop),
      peer_(std::make_shared<Peer>(desk, Tenant(), Peer::Begun::kNot)) {}

void Stdio::read_more() {
  const bool client_reads = queued() < options_.most_queued.value;
  if (is_reading_ || is_ending_ || !client_reads) return;
  is_reading_ = true;
  input_.async_ready([self = shared_from_this()] { self->on_readable(); });
}

void Stdio::on_readable() {
  is_reading_ = false;
  if (is_ending_) return;
  std::array<char, kChunk> chunk;
  const ssize_t got = input_.read(chunk);
  if (got > 0) {
    take({chunk.data(), static_cast<std::size_t>(got)});
  } else if (got == 0 || !is_passing(errno)) {
    if (!in_.empty()) on_line(std::exchange(in_, {}));
    return stop();
  }
  read_more();
}

void Stdio::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    const bool has_ended = end != std::string_view::npos;
    bytes.remove_prefix(has_ended ? end + 1 : bytes.size());
    if (!is_skipping_ && in_.size() + piece.size() > options_.most_line.value) {
      is_skipping_ = true;
      give_back(in_);
      send(failure_text(nullptr, {Code::kInvalidRequest,
                                  "a message may be " + size_text(options_.most_line) +
                                      " long; this one was left out",
                                  {}}));
    }
    if (!is_skipping_) in_ += piece;
    if (!has_ended) continue;
    if (!std::exchange(is_skipping_, false)) on_line(in_);
    give_back(in_);
  }
}

void Stdio::on_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return;
  auto message = read_message(line);
  if (!message) return send(failure_text(message.error().id, message.error().failure));
  peer_->handle(std::move(*message), std::make_shared<PipeOutlet>(weak_from_this()));
}

void Stdio::send(const std::string& message) {
  if (reader_is_gone_) return;
  out_ += message;
  out_ += '\n';
  if (!is_writing_) write_some();
}

void Stdio::write_some() {
  is_writing_ = false;
  while (queued() > 0) {
    const ssize_t wrote = output_.write(std::span<const char>(out_).subspan(written_));
    if (wrote >= 0) {
      written_ += static_cast<std::size_t>(wrote);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {
      is_writing_ = true;
      out_.erase(0, std::exchange(written_, 0));
      return output_.async_ready([self = shared_from_this()] {
        self->write_some();
        self->read_more();
      });
    }
    reader_is_gone_ = true;
    break;
  }
  give_back(out_);
  written_ = 0;
  if (reader_is_gone_) stop();
}

void Stdio::stop() {
  if (is_ending_) return;
  is_ending_ = true;
  input_.cancel();
  peer_->cancel_all();
  ends_at_ = std::chrono::steady_clock::now() + options_.ending;
  wait_for_end();
}

void Stdio::wait_for_end() {
  timer_.expires_after(kLook);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error) return;
    const bool is_late = std::chrono::steady_clock::now() >= self->ends_at_;
    const bool has_ended = self->desk_.running() == 0 && self->queued() == 0;
    if (!has_ended && !is_late) return self->wait_for_end();
    self->output_.cancel();
    self->done_();
  });
}

}  // namespace runner::mcp
