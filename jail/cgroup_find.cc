#include "jail/cgroup_find.h"

#include <vector>

namespace jail {
namespace {

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(by);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool lists(std::string_view comma_list, std::string_view word) {
  for (const std::string_view part : split(comma_list, ','))
    if (part == word) return true;
  return false;
}

// proc(5): mountinfo escapes space, tab, newline and backslash as octal.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      const int value = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      out.push_back(static_cast<char>(value));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

struct MountLine {
  std::string root;
  std::string point;
  std::string_view type;
  std::string_view options;  // of the superblock
};

std::optional<MountLine> parse_line(std::string_view line) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto left = split(line.substr(0, dash), ' ');
  const auto right = split(line.substr(dash + 3), ' ');
  if (left.size() < 6 || right.size() < 3) return std::nullopt;
  return MountLine{unescape(left[3]), unescape(left[4]), right[0], right[2]};
}

// cgroup_namespaces(7): what lies outside the namespace's root is shown as "/../...".
bool climbs(std::string_view path) {
  for (const std::string_view part : split(path, '/'))
    if (part == "..") return true;
  return false;
}

// Our path below the hierarchy's root, seen through a mount that may show only a subtree of it
// (a container's). A path outside the mounted subtree can only be reached as its root.
std::string own_folder(const MountLine& mount, std::string_view path) {
  if (climbs(path)) return mount.point;
  if (mount.root == "/") return path == "/" ? mount.point : mount.point + std::string(path);
  const bool below = path.substr(0, mount.root.size()) == mount.root &&
                     (path.size() == mount.root.size() || path[mount.root.size()] == '/');
  if (!below) return mount.point;
  return mount.point + std::string(path.substr(mount.root.size()));
}

}  // namespace

std::optional<Hierarchy> find_v1(std::string_view mountinfo, std::string_view cgroup,
                                 std::string_view controller) {
  std::string_view path = "/";
  for (const std::string_view line : split(cgroup, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() >= 3 && lists(parts[1], controller))
      path = line.substr(parts[0].size() + parts[1].size() + 2);
  }
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto mount = parse_line(line);
    if (mount && mount->type == "cgroup" && lists(mount->options, controller))
      return Hierarchy{mount->point, own_folder(*mount, path)};
  }
  return std::nullopt;
}

std::optional<Hierarchy> find_v2(std::string_view mountinfo, std::string_view cgroup) {
  std::string_view path = "/";
  for (const std::string_view line : split(cgroup, '\n'))
    if (line.substr(0, 3) == "0::") path = line.substr(3);
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto mount = parse_line(line);
    if (mount && mount->type == "cgroup2") return Hierarchy{mount->point, own_folder(*mount, path)};
  }
  return std::nullopt;
}

}  // namespace jail
