#include "tests/support/leftovers.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

namespace support {
namespace {

namespace fs = std::filesystem;

struct Process {
  pid_t parent = 0;
  char state = '?';
  std::string name;
};

// proc_pid_stat(5): "pid (comm) state ppid ..."; comm may hold anything, so look for the last ')'.
std::map<pid_t, Process> all_processes() {
  std::map<pid_t, Process> processes;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string number = entry.path().filename();
    if (!std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c); }))
      continue;
    std::ifstream file(entry.path() / "stat");
    std::string line;
    std::getline(file, line);
    const auto open = line.find('(');
    const auto close = line.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close + 4 >= line.size())
      continue;
    Process process;
    process.name = line.substr(open + 1, close - open - 1);
    process.state = line[close + 2];
    process.parent = static_cast<pid_t>(std::stol(line.substr(close + 4)));
    processes[static_cast<pid_t>(std::stol(number))] = process;
  }
  return processes;
}

bool descends_from_us(const std::map<pid_t, Process>& all, pid_t pid) {
  for (auto it = all.find(pid); it != all.end(); it = all.find(it->second.parent)) {
    if (it->second.parent == ::getpid()) return true;
  }
  return false;
}

// True if a number in the name is the pid of a living process that is not ours: another test's.
bool belongs_to_another(const std::map<pid_t, Process>& all, const std::string& name) {
  std::string digits;
  for (const char c : name + "-") {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digits += c;
      continue;
    }
    if (!digits.empty() && digits.size() < 9) {
      const auto pid = static_cast<pid_t>(std::stol(digits));
      if (all.count(pid) != 0 && pid != ::getpid() && !descends_from_us(all, pid)) return true;
    }
    digits.clear();
  }
  return false;
}

void add_cgroups(const fs::path& folder, int depth, const std::map<pid_t, Process>& all,
                 std::set<std::string>& found) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.is_symlink(ignored) || !entry.is_directory(ignored)) continue;
    const std::string name = entry.path().filename();
    if (name.rfind("sandglass", 0) == 0) {
      if (!belongs_to_another(all, name)) found.insert("cgroup " + entry.path().string());
    } else if (depth > 0) {
      add_cgroups(entry.path(), depth - 1, all, found);
    }
  }
}

void add_files(const fs::path& folder, const std::map<pid_t, Process>& all,
               std::set<std::string>& found) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (name.find("sandglass") == std::string::npos) continue;
    // The tests' own (temp_dir.h), the scripts' own.
    if (name.rfind("test-sandglass-", 0) == 0 || name.rfind("sandglass-user.", 0) == 0 ||
        name.rfind("sandglass-apt.", 0) == 0)
      continue;
    if (belongs_to_another(all, name)) continue;
    found.insert("file " + entry.path().string());
  }
}

void add_new(const std::set<std::string>& before, const std::set<std::string>& now,
             std::string& report) {
  for (const std::string& line : now) {
    if (before.count(line) == 0) report += line + "\n";
  }
}

}  // namespace

Leftovers::Leftovers() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
  before_ = take();
}

Leftovers::Snapshot Leftovers::take() {
  Snapshot now;
  const auto all = all_processes();
  for (const auto& [pid, process] : all) {
    if (process.state != 'Z' && descends_from_us(all, pid))
      now.processes.insert("process " + std::to_string(pid) + " " + process.name);
  }
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) now.mounts.insert("mount " + line);
  add_cgroups("/sys/fs/cgroup", 5, all, now.cgroups);
  add_files(fs::temp_directory_path(), all, now.files);
  add_files("/dev/shm", all, now.files);
  add_files("/run", all, now.files);
  return now;
}

std::string Leftovers::found(std::chrono::milliseconds patience) const {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const Snapshot now = take();
    std::string report;
    add_new(before_.processes, now.processes, report);
    add_new(before_.mounts, now.mounts, report);
    add_new(before_.cgroups, now.cgroups, report);
    add_new(before_.files, now.files, report);
    if (report.empty() || std::chrono::steady_clock::now() >= deadline) return report;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace support
