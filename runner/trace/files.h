// The files of a trace: FOLDER/trace-000001.jsonl and on, the highest number is written. A line
// goes in by one write(2) before anybody hears of it, so that it outlives a kill -9 of this
// process; what outlives the machine is up to syncer.h. Without a folder the same in unnamed
// memory. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "jail/fd.h"
#include "jail/units.h"
#include "runner/error.h"

namespace runner::trace {

struct FilesOptions {
  std::string folder;                      // empty: in memory
  jail::Bytes max_file = jail::mib(64);    // a longer line gets a file of its own
  std::size_t files = 8;                   // at least 2; the oldest goes
  std::function<void(std::string)> say{};  // one line for the operator's log
};

struct Place {
  std::uint64_t file = 0;  // its number
  std::uint64_t offset = 0;
  std::uint32_t size = 0;  // without the newline
};

// Any thread.
std::optional<std::string> read_line(const jail::Fd& file, const Place& place);

class Files {
  struct Key {};  // so that only open() makes one

 public:
  Files(Key /*key*/, FilesOptions options) : options_(std::move(options)) {}
  using OnLine = std::function<void(const Place&, std::string_view line)>;

  // Makes the folder (0700) if need be, takes it for this process alone, cuts a torn last line off
  // and tells of every whole line that is there. kFiles: it is not ours alone, taken, unreadable.
  static Result<std::unique_ptr<Files>> open(FilesOptions options, const OnLine& on_line);

  // All of the line or nothing of it: the errno of what failed.
  tl::expected<Place, int> append(std::string_view line);
  // Whether `bytes` more would go in: tried, and taken back. 0 or the errno.
  int probe(jail::Bytes bytes);
  // So that there is something to sync. 0 or the errno.
  int write_last_byte_again();
  // Whether the folder was removed and could be made anew.
  bool mend_folder();
  // Of this number; null: it is gone.
  [[nodiscard]] std::shared_ptr<const jail::Fd> file(std::uint64_t number) const;

  // The lowest number there is: places of a lower one are gone.
  [[nodiscard]] std::uint64_t first() const { return open_.begin()->first; }
  [[nodiscard]] std::shared_ptr<const jail::Fd> current() const {
    return open_.rbegin()->second.fd;
  }
  [[nodiscard]] std::string current_path() const;
  [[nodiscard]] const std::shared_ptr<const jail::Fd>& folder() const { return folder_; }
  [[nodiscard]] std::uint64_t bytes() const;
  // Records that went with files over the number.
  [[nodiscard]] std::uint64_t aged_out() const { return aged_out_; }
  // Whether somebody has removed or changed one; of the newest, each append() looks.
  void look_for_all();
  // Records that went with files that somebody else removed or cut.
  [[nodiscard]] std::uint64_t removed() const { return removed_; }

 private:
  struct One {
    std::shared_ptr<const jail::Fd> fd;
    std::uint64_t size = 0;
    std::uint64_t lines = 0;
    bool broken = false;   // nothing goes behind what stands at its end
    bool removed = false;  // by somebody else
  };
  Result<void> take_folder();
  Result<void> scan(const OnLine& on_line);
  Result<One> scan_one(std::uint64_t number, const OnLine& on_line);
  [[nodiscard]] std::string name(std::uint64_t number) const;
  int start_file();  // 0 or errno
  void look_for_current();
  void look_for(std::uint64_t number, One& one);
  void drop_oldest();
  void say(std::string text) const {
    if (options_.say) options_.say(std::move(text));
  }

  FilesOptions options_;
  std::shared_ptr<const jail::Fd> folder_;  // null: in memory
  std::map<std::uint64_t, One> open_;
  std::uint64_t aged_out_ = 0;
  std::uint64_t removed_ = 0;
  int rotation_error_ = 0;
};

}  // namespace runner::trace
