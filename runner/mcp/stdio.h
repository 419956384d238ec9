// MCP over two descriptors: a message a line in, a message a line out, and nothing else ever. One
// event loop, its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "jail/units.h"
#include "runner/mcp/desk.h"
#include "runner/mcp/peer.h"
#include "runner/session/caller_fd.h"

namespace runner::mcp {

struct StdioOptions {
  int in = 0;  // both are borrowed, and stay as they are
  int out = 1;
  jail::Bytes most_line = jail::mib(17);   // longer ones are refused and skipped
  jail::Bytes most_queued = jail::mib(4);  // above it nothing is read: the client does not
  jail::Millis ending{2'000};              // for what is interrupted at the end to end
};

class Stdio final : public std::enable_shared_from_this<Stdio> {
 public:
  // The desk outlives this. `done` is called once from the loop, when the input has ended or nobody
  // reads the output, and everything has been interrupted.
  Stdio(boost::asio::io_context& loop, Desk& desk, const StdioOptions& options,
        std::function<void()> done);

  void start() { read_more(); }
  // As if the input had ended.
  void stop();

 private:
  class PipeOutlet;

  void read_more();
  void on_readable();
  void take(std::string_view bytes);
  void on_line(std::string_view line);
  void send(const std::string& message);
  void write_some();
  void wait_for_end();
  [[nodiscard]] std::size_t queued() const { return out_.size() - written_; }

  Desk& desk_;
  StdioOptions options_;
  std::function<void()> done_;
  CallerFd input_;
  CallerFd output_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point ends_at_;
  std::shared_ptr<Peer> peer_;
  std::string in_;
  std::string out_;
  std::size_t written_ = 0;
  bool is_skipping_ = false;  // the rest of a line that is too long
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_ending_ = false;
  bool reader_is_gone_ = false;
};

}  // namespace runner::mcp
