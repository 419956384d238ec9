#include <string>

#include "policies/explain.h"
#include "policies/quantity.h"

namespace policies {
namespace {

// A TOML basic string. Values of a policy have no control characters; parse.cc sees to it.
std::string quoted(std::string_view text) {
  std::string q = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') q += '\\';
    q += c;
  }
  return q + '"';
}

std::string list(const std::vector<std::string>& words) {
  std::string all = "[";
  for (const std::string& w : words) all += (all.size() == 1 ? "" : ", ") + quoted(w);
  return all + ']';
}

std::string line(std::string_view key, const std::string& value) {
  return std::string(key) + " = " + value + '\n';
}

template <class T>
std::string unless_zero(std::string_view key, T value, std::string (*print)(T)) {
  return value == T{} ? std::string() : line(key, quoted(print(value)));
}

std::string count(std::string_view key, std::uint64_t value) {
  return value == 0 ? std::string() : line(key, std::to_string(value));
}

std::string section(std::string_view name, const std::string& lines) {
  return lines.empty() ? std::string() : "\n[" + std::string(name) + "]\n" + lines;
}

std::string exec(jail::Exec e) { return e == jail::Exec::kExec ? "true" : "false"; }

std::string bind(const Bind& b) {
  if (b.source == b.target && b.exec == jail::Exec::kExec) return quoted(b.source);
  return "{ source = " + quoted(b.source) + ", target = " + quoted(b.target) +
         ", exec = " + exec(b.exec) + " }";
}

std::string tmpfs(const Tmpfs& fs) {
  std::string parts = "{ path = " + quoted(fs.path);
  if (fs.size.value != 0) parts += ", size = " + quoted(print_size(fs.size));
  if (fs.inodes != 0) parts += ", inodes = " + std::to_string(fs.inodes);
  return parts + ", exec = " + exec(fs.exec) + " }";
}

template <class T, class Print>
std::string long_list(std::string_view key, const std::vector<T>& items, Print print) {
  std::string all;
  for (const T& item : items) all += "  " + print(item) + ",\n";
  return all.empty() ? all : std::string(key) + " = [\n" + all + "]\n";
}

std::string binds(const Files& f, jail::Presence presence, std::string_view key) {
  std::vector<Bind> some;
  for (const Bind& b : f.read_only)
    if (b.presence == presence) some.push_back(b);
  return long_list(key, some, bind);
}

std::string files(const Files& f) {
  if (f == Files{}) return {};
  const char* proc = f.proc == jail::ProcView::kNone      ? "none"
                     : f.proc == jail::ProcView::kOwnPids ? "own"
                                                          : "masked";
  return binds(f, jail::Presence::kRequired, "read_only") +
         binds(f, jail::Presence::kOptional, "read_only_if_present") +
         (f.workdir == Tmpfs{} ? "" : line("workdir", tmpfs(f.workdir))) +
         long_list("scratch", f.scratch, tmpfs) +
         (f.devices.empty() ? "" : line("devices", list(f.devices))) +
         line("devpts", f.devpts ? "true" : "false") + line("mqueue", f.mqueue ? "true" : "false") +
         line("proc", quoted(proc)) + unless_zero("max_file", f.max_file, print_size) +
         count("outputs", f.outputs);
}

std::string limits(const Limits& l) {
  return unless_zero("memory", l.memory, print_size) +
         unless_zero("cpu_time", l.cpu_time, print_duration) +
         unless_zero("wall_time", l.wall_time, print_duration) +
         unless_zero("grace", l.grace, print_duration) + count("processes", l.processes) +
         count("open_files", l.open_files) + unless_zero("file_size", l.file_size, print_size) +
         unless_zero("output", l.output, print_size);
}

std::string interpreter(const Interpreter& i) {
  std::string all;
  if (!i.command.empty()) all += line("command", list(i.command));
  if (!i.extension.empty()) all += line("extension", quoted(i.extension));
  if (!i.package.empty()) all += line("package", quoted(i.package));
  all += line("start", quoted(i.start == Start::kExec ? "exec" : "join"));
  if (!i.preload.empty()) all += line("preload", list(i.preload));
  std::string env;
  for (const auto& [key, value] : i.env)
    env += (env.empty() ? " " : ", ") + quoted(key) + " = " + quoted(value);
  if (!env.empty()) all += line("env", '{' + env + " }");
  all += long_list("warm", i.warm, [](const std::pair<std::string, std::string>& w) {
    return "{ source = " + quoted(w.first) + ", target = " + quoted(w.second) + " }";
  });
  return all;
}

std::string syscalls(const Syscalls& s) {
  if (s == Syscalls{}) return {};
  return (s.allow.empty() ? "" : line("allow", list(s.allow))) +
         (s.deny.empty() ? "" : line("deny", list(s.deny))) +
         line("on_deny", quoted(s.on_deny == OnDeny::kKill ? "kill" : "explain"));
}

}  // namespace

std::string show(const Policy& p) {
  std::string all = p.extends.empty() ? "" : "# extends " + quoted(p.extends) + ", merged in\n";
  all += line("name", quoted(p.name)) + line("why", quoted(p.why)) +
         line("mode", quoted(p.mode == Mode::kJail ? "jail" : "restricted"));
  if (p.fallback) all += line("fallback", quoted(*p.fallback));
  all += section("session", unless_zero("idle", p.session.idle, print_duration) +
                                unless_zero("lifetime", p.session.lifetime, print_duration) +
                                count("max_sessions", p.session.max_sessions));
  for (const auto& [name, i] : p.interpreters)
    all += section("interpreters." + quoted(name), interpreter(i));
  all += section("files", files(p.files)) + section("limits", limits(p.limits)) +
         section("syscalls", syscalls(p.syscalls));
  if (p.mode == Mode::kJail)
    all += section(
        "network",
        line("mode", quoted("none")) +
            line("loopback", quoted(p.network.loopback == jail::Loopback::kUp ? "up" : "down")));
  std::string arithmetic;
  if (!p.arithmetic.operators.empty())
    arithmetic += line("operators", list(p.arithmetic.operators));
  if (!p.arithmetic.functions.empty())
    arithmetic += line("functions", list(p.arithmetic.functions));
  all += section("arithmetic", arithmetic);
  std::string unsafe;
  for (const Unsafe& u : p.unsafe) unsafe += line(quoted(u.key), quoted(u.reason));
  return all + section("unsafe", unsafe);
}

}  // namespace policies
