#include "jail/sample.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "jail/fd.h"
#include "jail/text_file.h"

namespace jail {
namespace {

constexpr std::size_t kMostProcesses = 4096;

struct CloseDir {
  void operator()(DIR* d) const { ::closedir(d); }
};

// proc(5), /proc/PID/task/TID/children: reliable for a tree that is alive; one that changes while
// it is read may miss a process until the next sample.
void add_children(int proc, pid_t pid, std::vector<pid_t>& out) {
  const std::string tasks = std::to_string(pid) + "/task";
  const int folder = ::openat(proc, tasks.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  const std::unique_ptr<DIR, CloseDir> dir(::fdopendir(folder));
  if (!dir) {
    Fd(folder).reset();
    return;
  }
  while (const dirent* entry = ::readdir(dir.get())) {
    if (entry->d_name[0] == '.') continue;
    const auto text = read_file(folder, (std::string(entry->d_name) + "/children").c_str());
    if (!text) continue;
    const char* p = text->c_str();
    char* end = nullptr;
    for (long child = std::strtol(p, &end, 10); end != p; child = std::strtol(p, &end, 10)) {
      out.push_back(static_cast<pid_t>(child));
      p = end;
    }
  }
}

Millis cpu_of(int proc, pid_t pid) {
  const auto text = read_file(proc, (std::to_string(pid) + "/stat").c_str());
  if (!text) return Millis(0);
  // The command may hold anything, parentheses too: fields count from the last ')'.
  const std::size_t at = text->rfind(')');
  if (at == std::string::npos) return Millis(0);
  std::array<unsigned long, 4> t{};  // utime stime cutime cstime: fields 14 to 17
  const int n = std::sscanf(text->c_str() + at + 1,
                            " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &t[0],
                            &t[1], &t[2], &t[3]);
  if (n != 4) return Millis(0);
  static const long kTicks = ::sysconf(_SC_CLK_TCK);
  const unsigned long ticks = t[0] + t[1] + t[2] + t[3];
  return Millis(ticks * 1000 / static_cast<unsigned long>(kTicks));
}

Bytes memory_of(int proc, pid_t pid) {
  const auto text = read_file(proc, (std::to_string(pid) + "/smaps_rollup").c_str());
  if (!text) return {};
  const std::size_t at = text->find("\nPss:");
  if (at == std::string::npos) return {};
  return kib(first_number(std::string_view(*text).substr(at + 5)).value_or(0));
}

}  // namespace

Sampled sample_tree(int proc, pid_t init) {
  std::vector<pid_t> pids{init};
  Sampled usage;
  for (std::size_t i = 0; i < pids.size() && i < kMostProcesses; ++i) {
    add_children(proc, pids[i], pids);
    usage.cpu_time += cpu_of(proc, pids[i]);
    if (i > 0) usage.memory.value += memory_of(proc, pids[i]).value;
  }
  if (pids.size() > 1) usage.first = pids[1];
  return usage;
}

}  // namespace jail
