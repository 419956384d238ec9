#include "runner/reach/facts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <map>
#include <sstream>

#include "runner/reach/acts.h"

namespace runner::reach {
namespace {

// capabilities(7), in the order of their numbers.
constexpr std::array kCapabilities{"chown",
                                   "dac_override",
                                   "dac_read_search",
                                   "fowner",
                                   "fsetid",
                                   "kill",
                                   "setgid",
                                   "setuid",
                                   "setpcap",
                                   "linux_immutable",
                                   "net_bind_service",
                                   "net_broadcast",
                                   "net_admin",
                                   "net_raw",
                                   "ipc_lock",
                                   "ipc_owner",
                                   "sys_module",
                                   "sys_rawio",
                                   "sys_chroot",
                                   "sys_ptrace",
                                   "sys_pacct",
                                   "sys_admin",
                                   "sys_boot",
                                   "sys_nice",
                                   "sys_resource",
                                   "sys_time",
                                   "sys_tty_config",
                                   "mknod",
                                   "lease",
                                   "audit_write",
                                   "audit_control",
                                   "setfcap",
                                   "mac_override",
                                   "mac_admin",
                                   "syslog",
                                   "wake_alarm",
                                   "block_suspend",
                                   "audit_read",
                                   "perfmon",
                                   "bpf",
                                   "checkpoint_restore"};

std::string capability(int number) {
  const auto index = static_cast<std::size_t>(number);
  return index < kCapabilities.size() ? kCapabilities[index] : "number " + std::to_string(number);
}

using Words = std::vector<std::string>;
using Facts = std::multimap<std::string, Words>;

Facts parse(std::string_view text) {
  Facts facts;
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string key;
    if (!(words >> key)) continue;
    Words rest;
    for (std::string word; words >> word;) rest.push_back(std::move(word));
    facts.emplace(std::move(key), std::move(rest));
  }
  return facts;
}

int number(const std::string& word) {
  int value = -1;
  (void)std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

// The first word of the first fact of that name; empty: there is none.
std::string first(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() || found->second.empty() ? "" : found->second.front();
}

bool is_refusal(int error) { return error == EPERM || error == ENOSYS || error == EACCES; }

// What a filter does to a call that no arguments can make work: another answer than outside.
Opening opening_of(std::optional<int> inside, std::optional<int> outside) {
  constexpr int kSignal = 1000;
  if (!inside) return Opening::kUnknown;
  if (*inside == kSignal + SIGSYS) return Opening::kClosed;
  if (!is_refusal(*inside)) return Opening::kOpen;
  if (!outside) return Opening::kUnknown;
  return *inside == *outside ? Opening::kUnknown : Opening::kClosed;
}

std::map<int, int> answers(const Facts& facts) {
  std::map<int, int> result;
  const auto [begin, end] = facts.equal_range("call");
  for (auto it = begin; it != end; ++it) {
    if (it->second.size() == 2) result[number(it->second[0])] = number(it->second[1]);
  }
  return result;
}

std::optional<int> find(const std::map<int, int>& answers, int number) {
  const auto found = answers.find(number);
  return found == answers.end() ? std::nullopt : std::optional(found->second);
}

void add_calls(Surface& surface, const Facts& inside, const Facts& outside,
               std::vector<Call> calls) {
  surface.calls = std::move(calls);
  const std::string mode = first(inside, "seccomp");
  if (mode == "0") {
    surface.filter = "none";
    surface.acts = all_acts(Opening::kOpen);
    for (Call& call : surface.calls) call.opening = Opening::kOpen;
    return;
  }
  surface.filter = "a filter of its own";
  const auto in = answers(inside);
  const auto out = answers(outside);
  for (Call& call : surface.calls) {
    call.opening = opening_of(find(in, call.number), find(out, call.number));
  }
  surface.acts = all_acts(Opening::kUnknown);
  for (Act& act : surface.acts) {
    for (const Call& call : surface.calls) {
      if (call.name == act.call && call.opening == Opening::kClosed) act.opening = Opening::kClosed;
    }
  }
  surface.notes.push_back(
      "its filter was tried out with arguments that no call can use: what it allows with other "
      "arguments only counts as open or closed by these");
}

void add_mounts(Surface& surface, const Facts& inside) {
  if (inside.contains("unknown")) {
    surface.notes.emplace_back("it has no /proc, so its mounts could not be listed");
  }
  const auto [begin, end] = inside.equal_range("mount");
  for (auto it = begin; it != end; ++it) {
    const Words& words = it->second;
    if (words.size() != 4) continue;
    const std::string options = "," + words[1] + ",";
    const bool memory = words[2] == "tmpfs" || words[2] == "ramfs";
    Path path;
    path.path = words[0];
    path.place = words[2] == "proc" ? Place::kProc : memory ? Place::kMemory : Place::kHost;
    if (words[2] == "devpts" || words[2] == "mqueue") path.place = Place::kOther;
    const bool writable = options.find(",rw,") != std::string::npos && words[3] == "1";
    path.write = writable && path.place != Place::kProc ? Write::kYes : Write::kNo;
    path.run = options.find(",noexec,") == std::string::npos ? Run::kYes : Run::kNo;
    const auto same = [&](const Path& other) { return other.path == path.path; };
    // The last one mounted at a place is the one that is seen.
    std::erase_if(surface.paths, same);
    if (path.path.starts_with("/dev/") && path.place == Place::kHost) continue;  // device nodes
    surface.paths.push_back(std::move(path));
  }
}

void add_sockets(Surface& surface, const Facts& inside) {
  const auto [begin, end] = inside.equal_range("socket");
  for (auto it = begin; it != end; ++it) {
    if (it->second.size() != 2) continue;
    const std::string& family = it->second[0];
    if (surface.sockets.empty() || surface.sockets.back().family != family) {
      surface.sockets.push_back({family, {}});
    }
    surface.sockets.back().types.push_back(it->second[1]);
  }
}

// Those that are the same outside are not the sandbox's doing.
void add_limits(Surface& surface, const Facts& inside, const Facts& outside) {
  static const std::map<std::string, std::pair<const char*, std::uint64_t>> kUnits{
      {"core_file", {"bytes", 1}},
      {"open_files", {"count", 1}},
      {"file_size", {"bytes", 1}},
      {"cpu_time_each", {"ms", 1000}},
      {"stack", {"bytes", 1}},
      {"locked_memory", {"bytes", 1}},
      {"message_queues", {"bytes", 1}},
      {"pending_signals", {"count", 1}},
      {"realtime_priority", {"count", 1}},
      {"nice", {"count", 1}},
      {"realtime_time", {"us", 1}},
      {"processes_of_user", {"count", 1}},
      {"data_memory", {"bytes", 1}},
      {"address_space", {"bytes", 1}}};
  std::map<std::string, std::string> of_outside;
  const auto [first_outside, last_outside] = outside.equal_range("limit");
  for (auto it = first_outside; it != last_outside; ++it) {
    if (it->second.size() == 2) of_outside[it->second[0]] = it->second[1];
  }
  const auto [begin, end] = inside.equal_range("limit");
  for (auto it = begin; it != end; ++it) {
    if (it->second.size() != 2 || of_outside[it->second[0]] == it->second[1]) continue;
    const auto unit = kUnits.find(it->second[0]);
    if (unit == kUnits.end()) continue;
    const std::string& text = it->second[1];
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    Limit limit{it->second[0], std::nullopt, unit->second.first, "each process"};
    // Other words than the helper's are no fact.
    constexpr std::uint64_t kMost = 1ULL << 62U;
    if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) {
      if (value > kMost / unit->second.second) continue;
      limit.value = value * unit->second.second;
    } else if (text != "unlimited") {
      continue;
    }
    surface.limits.push_back(std::move(limit));
  }
}

void add_namespaces(Surface& surface, const Facts& inside, const Facts& outside) {
  const auto [begin, end] = outside.equal_range("namespace");
  const auto [mine, last] = inside.equal_range("namespace");
  if (mine == last) surface.notes.emplace_back("it has no /proc, so its namespaces are not known");
  for (auto it = begin; it != end; ++it) {
    for (auto other = mine; other != last; ++other) {
      if (it->second.size() != 2 || other->second.size() != 2) continue;
      if (it->second[0] != other->second[0] || it->second[1] == other->second[1]) continue;
      const std::string& name = it->second[0];
      surface.namespaces.push_back(name == "mnt" ? "mount" : name);
    }
  }
  const bool own = std::find(surface.namespaces.begin(), surface.namespaces.end(), "net") !=
                   surface.namespaces.end();
  surface.network = mine == last ? "not known" : own ? "a network of its own" : "the host's";
}

void add_capabilities(Surface& surface, const Facts& inside) {
  for (const auto& [key, list] :
       {std::pair("effective", &surface.effective), std::pair("bounding", &surface.bounding)}) {
    const auto [begin, end] = inside.equal_range(key);
    for (auto it = begin; it != end; ++it) {
      if (!it->second.empty()) list->push_back(capability(number(it->second[0])));
    }
  }
  const std::string flag = first(inside, "no_new_privileges");
  if (flag == "0" || flag == "1") surface.no_new_privileges = flag == "1";
}

}  // namespace

Result<Surface> surface_of_facts(std::string_view inside, std::string_view outside,
                                 std::vector<Call> calls) {
  const Facts in = parse(inside);
  const Facts out = parse(outside);
  if (!in.contains("seccomp") || first(in, "end") != "facts") {
    return fail(ErrorKind::kHost, "the sandbox let no fact out");
  }
  Surface surface;
  surface.origin = Origin::kMeasured;
  add_calls(surface, in, out, std::move(calls));
  add_sockets(surface, in);
  add_mounts(surface, in);
  add_limits(surface, in, out);
  add_namespaces(surface, in, out);
  add_capabilities(surface, in);
  const auto [begin, end] = in.equal_range("device");
  for (auto it = begin; it != end; ++it) {
    std::string name;
    for (const std::string& word : it->second) name += (name.empty() ? "" : " ") + word;
    surface.devices.push_back(name);
  }
  const std::string seen = first(in, "processes");
  surface.processes = seen == "none" ? "none: there is no /proc" : seen + " in its /proc";
  return surface;
}

}  // namespace runner::reach
