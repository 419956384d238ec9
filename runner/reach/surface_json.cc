#include "runner/reach/surface_json.h"

#include <map>

#include "runner/text.h"

namespace runner::reach {
namespace {

namespace json = boost::json;

json::array words(const std::vector<std::string>& list) {
  json::array array;
  for (const std::string& word : list) array.emplace_back(to_utf8(word));
  return array;
}

json::object syscalls(const Surface& surface) {
  json::array open;
  json::array unknown;
  std::map<std::string, std::pair<int, int>> groups;  // reachable, all
  for (const Call& call : surface.calls) {
    auto& [reachable, all] = groups[call.group];
    ++all;
    if (call.opening == Opening::kUnknown) unknown.emplace_back(call.name);
    if (call.opening == Opening::kClosed || call.opening == Opening::kUnknown) continue;
    ++reachable;
    json::object entry{{"number", call.number},
                       {"name", call.name},
                       {"group", call.group},
                       {"opening", opening_text(call.opening)}};
    if (!call.when.empty()) entry["when"] = words(call.when);
    open.emplace_back(std::move(entry));
  }
  json::object by_group;
  for (const auto& [name, counts] : groups) {
    by_group[name] = json::object{{"reachable", counts.first}, {"all", counts.second}};
  }
  return {{"reachable", count_reachable(surface)},
          {"groups", std::move(by_group)},
          {"calls", std::move(open)},
          {"unknown", std::move(unknown)}};
}

json::array paths(const Surface& surface) {
  json::array array;
  for (const Path& path : surface.paths) {
    json::object entry{{"path", to_utf8(path.path)},
                       {"from", place_text(path.place)},
                       {"writable", path.write == Write::kYes},
                       {"executable", path.run == Run::kYes}};
    if (path.max_bytes != 0) entry["max_bytes"] = path.max_bytes;
    array.emplace_back(std::move(entry));
  }
  return array;
}

json::array limits(const Surface& surface) {
  json::array array;
  for (const Limit& limit : surface.limits) {
    json::object entry{{"name", limit.name},
                       {"value", nullptr},
                       {"unit", limit.unit},
                       {"of", limit.scope},
                       {"text", limit_text(limit)}};
    if (limit.value) entry["value"] = *limit.value;
    array.emplace_back(std::move(entry));
  }
  return array;
}

}  // namespace

json::object surface_json(const Surface& surface) {
  json::array acts;
  for (const Act& act : surface.acts) {
    acts.emplace_back(json::object{
        {"name", act.name}, {"syscall", act.call}, {"opening", opening_text(act.opening)}});
  }
  json::array sockets;
  for (const SocketFamily& family : surface.sockets) {
    sockets.emplace_back(json::object{{"family", family.family}, {"types", words(family.types)}});
  }
  json::object object{{"subject", to_utf8(surface.subject)},
                      {"origin", surface.origin == Origin::kPolicy ? "policy" : "measured"},
                      {"filter", surface.filter},
                      {"syscalls", syscalls(surface)},
                      {"acts", std::move(acts)},
                      {"sockets", std::move(sockets)},
                      {"network", surface.network},
                      {"paths", paths(surface)},
                      {"devices", words(surface.devices)},
                      {"processes", surface.processes},
                      {"namespaces", words(surface.namespaces)},
                      {"capabilities", json::object{{"effective", words(surface.effective)},
                                                    {"bounding", words(surface.bounding)}}},
                      {"no_new_privileges", nullptr},
                      {"limits", limits(surface)},
                      {"notes", words(surface.notes)}};
  if (surface.no_new_privileges) object["no_new_privileges"] = *surface.no_new_privileges;
  return object;
}

}  // namespace runner::reach
