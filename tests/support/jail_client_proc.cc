// The half of jail_client.h that looks at processes and texts.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/jail_client.h"
#include "tests/support/temp_dir.h"

namespace support {
namespace {

namespace fs = std::filesystem;

// Fields after the ')' of /proc/PID/stat: [0] is the state.
std::vector<std::string> stat_fields(pid_t pid) {
  const std::string text = proc_text(pid, "stat");
  const std::size_t at = text.rfind(')');
  if (at == std::string::npos) return {};
  std::istringstream rest(text.substr(at + 1));
  std::vector<std::string> fields;
  for (std::string f; rest >> f;) fields.push_back(f);
  return fields;
}

bool open_to_others(const fs::path& path) {
  for (fs::path at = path; at != "/"; at = at.parent_path()) {
    struct stat st {};
    if (::stat(at.c_str(), &st) != 0 || (st.st_mode & S_IXOTH) == 0) return false;
  }
  return true;
}

}  // namespace

std::map<std::string, std::string> told(const std::string& out) {
  std::map<std::string, std::string> found;
  for (const std::string& line : lines_of(out)) {
    const std::size_t at = line.find(' ');
    if (at != std::string::npos) found.emplace(line.substr(0, at), line.substr(at + 1));
  }
  return found;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string proc_text(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool is_alive(pid_t pid) {
  const auto fields = stat_fields(pid);
  return !fields.empty() && fields[0] != "Z" && fields[0] != "X";
}

bool is_stopped(pid_t pid) {
  const auto fields = stat_fields(pid);
  return !fields.empty() && fields[0] == "T";
}

long rss_kib(pid_t pid) {
  for (const std::string& line : lines_of(proc_text(pid, "status")))
    if (line.rfind("VmRSS:", 0) == 0) return std::atol(line.c_str() + 6);
  return 0;
}

double cpu_seconds(pid_t pid) {
  const auto fields = stat_fields(pid);
  if (fields.size() < 13) return 0;
  return static_cast<double>(std::stol(fields[11]) + std::stol(fields[12])) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::vector<pid_t> descendants_of(pid_t pid) {
  std::multimap<pid_t, pid_t> children;
  std::error_code ignored;
  for (const auto& item : fs::directory_iterator("/proc", ignored)) {
    const pid_t child = static_cast<pid_t>(std::atol(item.path().filename().c_str()));
    const auto fields = child > 0 ? stat_fields(child) : std::vector<std::string>();
    if (fields.size() > 1) children.emplace(static_cast<pid_t>(std::stol(fields[1])), child);
  }
  std::vector<pid_t> found{pid};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto it = begin; it != end; ++it) found.push_back(it->second);
  }
  found.erase(found.begin());
  return found;
}

std::size_t count_fds(pid_t pid) {
  std::error_code ignored;
  std::size_t n = 0;
  for (fs::directory_iterator it("/proc/" + std::to_string(pid) + "/fd", ignored), end; it != end;
       it.increment(ignored))
    ++n;
  return n;
}

std::string public_path(const std::string& path) {
  if (open_to_others(path)) return path;
  static const TempDir copies;
  fs::permissions(copies.path(), fs::perms(0755));
  const fs::path copy = copies.path() / fs::path(path).filename();
  if (!fs::exists(copy)) fs::copy(path, copy, fs::copy_options::recursive);
  return copy;
}

}  // namespace support
