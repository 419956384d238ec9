// What two surfaces say of the same thing, as lines of text.
#include <algorithm>
#include <map>

#include "runner/reach/compare.h"
#include "runner/text.h"

namespace runner::reach {
namespace {

std::string joined(const std::vector<std::string>& words, const char* none) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? none : text;
}

std::string act_word(Opening opening) {
  switch (opening) {
    case Opening::kClosed:
      return "no";
    case Opening::kTested:
    case Opening::kOpen:
      return "yes";
    case Opening::kUnknown:
      break;
  }
  return "unknown";
}

std::string sockets(const Surface& surface) {
  std::vector<std::string> families;
  for (const SocketFamily& family : surface.sockets) families.push_back(family.family);
  return joined(families, "none");
}

std::string readable(const Surface& surface, Place place) {
  std::vector<std::string> paths;
  for (const Path& path : surface.paths) {
    if (path.place == place && path.write == Write::kNo) paths.push_back(path.path);
  }
  return joined(paths, "nothing");
}

std::string writable(const Surface& surface) {
  std::vector<std::string> paths;
  for (const Path& path : surface.paths) {
    if (path.write == Write::kNo) continue;
    const bool host = path.place == Place::kHost;
    std::string text = path.path;
    if (path.max_bytes != 0) text += " (" + size_text(jail::Bytes{path.max_bytes}) + ")";
    paths.push_back(text + (host ? " of the host" : ""));
  }
  return joined(paths, "nothing");
}

std::string runnable(const Surface& surface) {
  std::vector<std::string> paths;
  for (const Path& path : surface.paths) {
    if (path.write == Write::kYes && path.run == Run::kYes) paths.push_back(path.path);
  }
  return joined(paths, "nothing");
}

std::string privileges(const Surface& surface) {
  if (!surface.no_new_privileges) return "unknown";
  return *surface.no_new_privileges ? "no" : "yes";
}

}  // namespace

std::vector<Line> act_lines(const Comparison& comparison) {
  std::vector<Line> lines;
  for (const Act& act : comparison.a.surface.acts) {
    for (const Act& other : comparison.b.surface.acts) {
      if (act.name != other.name) continue;
      lines.push_back(
          {act.name + " (" + act.call + ")", act_word(act.opening), act_word(other.opening)});
    }
  }
  return lines;
}

std::vector<Line> other_lines(const Comparison& comparison) {
  const Surface& a = comparison.a.surface;
  const Surface& b = comparison.b.surface;
  return {
      {"filter", a.filter, b.filter},
      {"sockets it can make", sockets(a), sockets(b)},
      {"network", a.network, b.network},
      {"host files, readable", readable(a, Place::kHost), readable(b, Place::kHost)},
      {"writable", writable(a), writable(b)},
      {"writable, and programs run there", runnable(a), runnable(b)},
      {"devices", joined(a.devices, "none"), joined(b.devices, "none")},
      {"processes it sees", a.processes, b.processes},
      {"namespaces of its own", joined(a.namespaces, "none"), joined(b.namespaces, "none")},
      {"capabilities", joined(a.effective, "none"), joined(b.effective, "none")},
      {"capabilities it could gain", joined(a.bounding, "none"), joined(b.bounding, "none")},
      {"may gain privileges by set-user-id", privileges(a), privileges(b)},
  };
}

std::vector<Line> limit_lines(const Comparison& comparison) {
  std::vector<Line> lines;
  const auto place = [&lines](const Limit& limit) -> Line& {
    std::string name = limit.name;
    std::replace(name.begin(), name.end(), '_', ' ');
    name += ", " + limit.scope;
    for (Line& line : lines) {
      if (line.name == name) return line;
    }
    lines.push_back({name, "not set", "not set"});
    return lines.back();
  };
  for (const Limit& limit : comparison.a.surface.limits) place(limit).a = limit_text(limit);
  for (const Limit& limit : comparison.b.surface.limits) place(limit).b = limit_text(limit);
  return lines;
}

}  // namespace runner::reach
