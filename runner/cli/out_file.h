// A file that a report goes to, opened before the minutes that the report takes.
#pragma once

#include <string>
#include <string_view>

#include "jail/fd.h"
#include "runner/error.h"

namespace runner::cli {

class OutFile {
 public:
  // What is there stays until write(). kFiles: it cannot be written, and why; `option` is named.
  static Result<OutFile> open(const std::string& option, const std::string& path);
  // Removes it if it was made here and nothing was written.
  ~OutFile();
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;
  OutFile(OutFile&& other) noexcept = default;
  OutFile& operator=(OutFile&&) = delete;

  // All of it, instead of what was there. kFiles: there is no room, for one.
  Result<void> write(std::string_view text);

 private:
  OutFile(std::string option, std::string path)
      : option_(std::move(option)), path_(std::move(path)) {}
  [[nodiscard]] tl::unexpected<Error> cannot(int error) const;

  std::string option_;
  std::string path_;
  jail::Fd file_;
  bool made_ = false;
};

}  // namespace runner::cli
