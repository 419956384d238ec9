#include "runner/reach/stale.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace runner::reach {
namespace {

namespace fs = std::filesystem;

// Whoever was killed a moment ago may have children that are still about to end.
template <class Deed>
bool in_time(const Deed& deed) {
  constexpr int kTries = 100;
  constexpr unsigned kPauseUs = 10'000;
  for (int i = 0; i < kTries; ++i) {
    if (deed()) return true;
    ::usleep(kPauseUs);
  }
  return false;
}

bool is_stale(const fs::path& path, std::string_view prefix) {
  const std::string name = path.filename().string();
  if (!name.starts_with(prefix)) return false;
  const long pid = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
  // Others put FIFOs and links there too.
  const jail::Fd entry(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat st {};
  if (pid <= 0 || ::fstat(entry.get(), &st) != 0 || st.st_uid != ::geteuid()) return false;
  if (::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH) return false;
  // A child of the killed one's may just be on its way to execve(2), which lets go.
  return in_time([&] { return ::flock(entry.get(), LOCK_EX | LOCK_NB) == 0; });
}

}  // namespace

jail::Fd hold(const std::string& path) {
  jail::Fd entry(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (entry.valid() && ::flock(entry.get(), LOCK_SH) != 0) entry.reset();
  return entry;
}

std::vector<std::string> sweep_stale(const std::string& folder, std::string_view prefix) {
  std::vector<std::string> swept;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!is_stale(entry.path(), prefix)) continue;
    (void)in_time([&] {
      std::error_code failed;
      fs::remove_all(entry.path(), failed);
      return !failed;
    });
    swept.push_back(entry.path().filename().string());
  }
  return swept;
}

}  // namespace runner::reach
