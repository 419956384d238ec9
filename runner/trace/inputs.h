// Files that went into sessions, kept by the hash of their content so that what ran can run again:
// FOLDER/SHA256, 0600. The oldest go when all are larger than the size or older than the time; a
// file that is put in again counts as new. One thread, but for Draft::write().
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "jail/fd.h"
#include "jail/units.h"
#include "runner/error.h"

namespace runner::trace {

struct InputsOptions {
  std::string folder;
  jail::Bytes size = jail::mib(1024);
  std::chrono::hours time{24 * 30};
};

class Inputs {
  struct Key {};  // so that only open() makes one

 public:
  Inputs(Key /*key*/, InputsOptions options) : options_(std::move(options)) {}
  // Makes the folder (0700) if need be. kFiles.
  static Result<std::unique_ptr<Inputs>> open(InputsOptions options);

  // A file that is being written, under a name of its own until it is whole: a name that is a hash
  // never stands for half a file.
  struct Draft {
    std::string sha256;
    std::string name;
    std::uint64_t bytes = 0;
    jail::Fd file;
    std::shared_ptr<const jail::Fd> folder;
    // Any thread; it may take as long as the disk does. 0 or an errno.
    int write(std::string_view content);
  };
  // Null: the file is there already. errno; EFBIG for one that is larger than `size`. Where
  // somebody has removed the folder, it is made anew.
  tl::expected<std::unique_ptr<Draft>, int> begin(const std::string& sha256, std::uint64_t bytes);
  // After write(), whose errno is `error`. The file, not yet synced; or an errno.
  tl::expected<std::shared_ptr<const jail::Fd>, int> finish(Draft& draft, int error);
  // Removes what is too old or too much.
  void tend();

  [[nodiscard]] const std::shared_ptr<const jail::Fd>& folder() const { return folder_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t removed() const { return removed_; }

 private:
  struct One {
    std::uint64_t bytes = 0;
    std::int64_t seconds = 0;  // when it was last put in
  };
  Result<void> open_folder();
  int open(Draft& draft);
  void remove(std::map<std::string, One>::iterator one);
  void make_room(std::uint64_t bytes);

  InputsOptions options_;
  std::shared_ptr<const jail::Fd> folder_;
  std::map<std::string, One> known_;  // by hash
  std::uint64_t bytes_ = 0;
  std::uint64_t removed_ = 0;
  std::uint64_t drafts_ = 0;   // so far
  std::uint64_t drafted_ = 0;  // bytes of those that are not finished
};

// For reading alone, beside a server that may be writing: the content, if it is there and still has
// this hash.
struct Kept {
  enum class State : std::uint8_t { kThere, kGone, kChanged } state = State::kGone;
  std::string content;
};
Kept kept_input(const std::string& folder, const std::string& sha256);

}  // namespace runner::trace
