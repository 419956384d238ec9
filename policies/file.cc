#include "policies/file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "jail/error.h"

namespace policies {
namespace {

constexpr std::size_t kMaxFile = std::size_t{1} << 20U;

tl::unexpected<Error> unreadable(const std::string& path, int error) {
  return fail(path + ": cannot be read: " + jail::errno_name(error));
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) return unreadable(path, error.value());
  // Opening a FIFO would wait for a writer.
  if (!std::filesystem::is_regular_file(status)) return fail(path + ": is not a regular file");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return unreadable(path, errno != 0 ? errno : EIO);
  const auto size = std::filesystem::file_size(path, error);
  if (error) return unreadable(path, error.value());
  std::string text(std::min<std::uintmax_t>(size, kMaxFile) + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return unreadable(path, EIO);
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMaxFile) return fail(path + ":1:1: the file is larger than 1 MiB");
  return text;
}

}  // namespace policies
