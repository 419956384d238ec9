#include "runner/cli/eval_batch.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/cli/command.h"
#include "runner/cli/print.h"

namespace runner::cli {
namespace {

// An expression of 200 characters takes 2402 bytes at most.
constexpr std::size_t kLongestLine = std::size_t{1} << 20U;
constexpr std::size_t kRead = std::size_t{128} << 10U;
constexpr std::size_t kWrite = std::size_t{64} << 10U;
constexpr std::string_view kTooLong = "{\"error\": \"the line is longer than 1 MiB\"}\n";

// As read(2), but it waits also where stdin does not block.
ssize_t read_some(std::span<char> buffer) {
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
    pollfd one{STDIN_FILENO, POLLIN, 0};
    if (errno == EAGAIN) ::poll(&one, 1, -1);
  }
}

class Batch {
 public:
  explicit Batch(const arithmetic::Options& options)
      : options_(options), buffer_(kLongestLine + kRead) {}

  int run() {
    for (;;) {
      const ssize_t got = read_some(std::span(buffer_).subspan(held_, kRead));
      const int read_error = errno;
      if (got > 0) {
        take(static_cast<std::size_t>(got));
      } else if (held_ > 0) {
        answer({buffer_.data(), held_});  // the last line, without a line feed
      }
      flush();
      if (write_error_ != 0) return lost_output(write_error_);
      if (got == 0) return 0;
      if (got > 0) continue;
      note("cannot read stdin: " + jail::errno_name(read_error) + "; give a file or a pipe");
      return kFailed;
    }
  }

 private:
  // `got` more bytes stand after the held ones.
  void take(std::size_t got) {
    const char* line = buffer_.data();
    const char* from = line + held_;  // what is held has no line feed
    const char* const end = from + got;
    while (from != end) {
      const void* found = std::memchr(from, '\n', static_cast<std::size_t>(end - from));
      if (found == nullptr) break;
      from = static_cast<const char*>(found) + 1;
      if (!skips_) answer({line, static_cast<std::size_t>(from - line)});
      skips_ = false;
      line = from;
    }
    hold({line, static_cast<std::size_t>(end - line)});
  }

  // The beginning of a line; of one that is too long only its end still matters.
  void hold(std::string_view begun) {
    if (!skips_ && begun.size() > kLongestLine) {
      out_ += kTooLong;
      skips_ = true;
    }
    held_ = skips_ ? 0 : begun.size();
    if (held_ > 0) std::memmove(buffer_.data(), begun.data(), held_);
  }

  void answer(std::string_view line) {
    arithmetic::batch_line(line, options_, out_);
    if (out_.size() > kWrite) flush();
  }

  void flush() {
    if (write_error_ == 0) write_error_ = try_put(out_);
    out_.clear();
  }

  const arithmetic::Options& options_;
  std::vector<char> buffer_;
  std::size_t held_ = 0;  // bytes at the buffer's start: a line that has not ended
  bool skips_ = false;    // the rest of a line that was too long
  std::string out_;
  int write_error_ = 0;
};

}  // namespace

int evaluate_batch(const arithmetic::Options& options) { return Batch(options).run(); }

}  // namespace runner::cli
