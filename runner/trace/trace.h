// The trace: every execution is one line, written before its reply is sent. Kept in files or, where
// no folder is given, in memory for as long as the server lives. One event loop, its thread.
#pragma once

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runner/trace/files.h"
#include "runner/trace/inputs.h"
#include "runner/trace/record.h"
#include "runner/trace/syncer.h"
#include "runner/worker.h"

namespace runner::trace {

// When a record is on disk. Whatever is chosen, it outlives a kill -9 of the server.
enum class Sync : std::uint8_t {
  kNone,    // when the kernel likes: the machine's death may take half a minute of records
  kSecond,  // within a second
  kAlways,  // before the reply is sent
};

// What happens when a record cannot be written, or not be brought to the disk: a full disk, mostly.
enum class WhenFull : std::uint8_t {
  kGoOn,  // executions go on without; the loss is counted, logged, and noted in the trace
          // afterwards
  kStop,  // nothing new begins until it works again
};

struct Options {
  FilesOptions files{};  // files.folder empty: in memory, and no inputs are kept
  Sync sync = Sync::kSecond;
  WhenFull when_full = WhenFull::kGoOn;
  jail::Bytes inputs_size = jail::mib(1024);
  std::chrono::hours inputs_time{24 * 30};
  int (*sync_file)(int fd) = ::fdatasync;  // on a thread of its own; 0, or -1 and errno
};

// For memory: little, since it is the server's own.
inline constexpr jail::Bytes kMemoryFile = jail::mib(8);
inline constexpr std::size_t kMemoryFiles = 2;

struct Counters {
  std::uint64_t records = 0;        // written
  std::uint64_t lost = 0;           // not written, or went with a file that was removed or cut
  std::uint64_t unsynced = 0;       // written, but fdatasync failed: may not outlive the machine
  std::uint64_t aged_out = 0;       // went with files over the number
  std::uint64_t sync_failures = 0;  // of fdatasync
  std::uint64_t bytes = 0;          // of all files now
  std::uint64_t input_bytes = 0;
  std::uint64_t inputs_lost = 0;     // could not be kept
  std::uint64_t inputs_removed = 0;  // over their time or size
};

using Content = std::shared_ptr<const std::string>;

// A session's lines, or as many as fit.
struct Lines {
  std::vector<std::string> lines;
  std::string next;       // the id after which there is more; empty: that was all
  bool has_after = true;  // `after` was found
};

// Where a session's lines are: they can be read on, whatever becomes of the trace.
struct Excerpt {
  std::vector<std::pair<std::shared_ptr<const jail::Fd>, Place>> places;

  // `after`: an id; the lines behind it. At most `most` bytes, but one line always. Any thread; it
  // takes its time.
  [[nodiscard]] Lines read(std::string_view after, jail::Bytes most) const;
};

class Trace {
  struct Key {};  // so that only open() makes one

 public:
  Trace(Key key, boost::asio::io_context& loop, Options options);
  static Result<std::unique_ptr<Trace>> open(boost::asio::io_context& loop, Options options);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  Trace(Trace&&) = delete;
  Trace& operator=(Trace&&) = delete;

  // Writes it down now; calls `then` now, or under Sync::kAlways from the loop once it is on disk.
  void add(const Record& record, std::function<void()> then);
  // Writes a file that was put in, away from the loop, and calls `then` once it is kept, or could
  // not be: now where there is nothing to write, else from the loop. Under Sync::kAlways it is on
  // disk by then, and so are the records before.
  void keep_input(const Content& content, const std::string& sha256, std::function<void()> then);

  // Whether new executions may begin: false only under WhenFull::kStop. Tries to write first.
  [[nodiscard]] bool accepts();

  // Where the lines of this session are, if it is this owner's; nullopt: nothing is known of it.
  [[nodiscard]] std::optional<Excerpt> excerpt(const std::string& session,
                                               std::string_view owner) const;

  [[nodiscard]] bool waits_for_disk() const { return options_.sync == Sync::kAlways; }
  [[nodiscard]] Counters counters() const;

 private:
  struct Session {
    std::string owner;
    std::vector<Place> places;
  };
  void index(const Place& place, std::string_view line);
  void forget_aged();
  int write(std::string_view line);
  void lose(int error);
  void keep(const Content& content, const std::string& sha256, int tries,
            std::function<void()> then);
  tl::expected<std::unique_ptr<Inputs::Draft>, int> begin_input(const std::string& sha256,
                                                                std::uint64_t bytes);
  void end_input(const tl::expected<std::shared_ptr<const jail::Fd>, int>& kept);
  void when_durable(std::function<void()> then);
  void synced(int error, std::uint64_t records);
  void try_sync();
  bool close_gap();
  void tend();
  void say(std::string text) const {
    if (options_.files.say) options_.files.say("trace: " + std::move(text));
  }

  Options options_;
  std::unique_ptr<Files> files_;
  std::unique_ptr<Inputs> inputs_;
  std::unordered_map<std::string, Session> sessions_;
  std::uint64_t first_file_ = 0;
  std::uint64_t foreign_ = 0;  // lines that are no records
  Counters counters_;
  std::uint64_t gap_ = 0;       // records lost since the last that was written
  std::uint64_t unsynced_ = 0;  // records that the trace does not yet say may be gone
  std::int64_t gap_since_us_ = 0;
  int sync_error_ = 0;  // of the last fdatasync
  bool is_trying_ = false;
  bool input_trouble_ = false;
  const jail::Fd* last_file_ = nullptr;
  boost::asio::steady_timer tending_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::unique_ptr<Syncer> syncer_;  // these two last: their threads end first
  Worker writer_;
};

}  // namespace runner::trace
