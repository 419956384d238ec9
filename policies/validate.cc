#include "policies/validate.h"

#include <algorithm>

#include "policies/allowed.h"
#include "policies/nearest.h"
#include "policies/paths.h"
#include "policies/quantity.h"

namespace policies {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 5> kPlainDevices{"/dev/null", "/dev/zero", "/dev/full",
                                                        "/dev/random", "/dev/urandom"};

// Whole files of the host's own data; a bind below them is a weakening.
constexpr std::array<std::string_view, 9> kHostData{"/etc",  "/home",  "/root", "/var", "/srv",
                                                    "/boot", "/media", "/mnt",  "/tmp"};
// What programs need from /etc and what says nothing about the host's users or secrets.
constexpr std::array<std::string_view, 14> kHarmlessEtc{"/etc/alternatives",
                                                        "/etc/fonts",
                                                        "/etc/ld.so.cache",
                                                        "/etc/ld.so.conf",
                                                        "/etc/ld.so.conf.d",
                                                        "/etc/localtime",
                                                        "/etc/matplotlibrc",
                                                        "/etc/mime.types",
                                                        "/etc/magic",
                                                        "/etc/perl",
                                                        "/etc/R",
                                                        "/etc/python3",
                                                        "/etc/python3.11",
                                                        "/etc/inputrc"};
constexpr std::array<std::string_view, 4> kForbiddenBinds{"/proc", "/sys", "/dev", "/run"};

bool plain_device(const std::string& path) {
  return std::find(kPlainDevices.begin(), kPlainDevices.end(), path) != kPlainDevices.end();
}

bool host_data(const std::string& path) {
  const auto below = [&](std::string_view root) { return is_below(path, root); };
  return std::any_of(kHostData.begin(), kHostData.end(), below) &&
         std::none_of(kHarmlessEtc.begin(), kHarmlessEtc.end(), below);
}

// Throws Error.
class Validator {
 public:
  Validator(const Policy& policy, const SyscallTable& table, const Places& places)
      : p_(policy), table_(table), places_(places) {}

  std::vector<std::string> check() {
    identity();
    session();
    if (p_.mode == Mode::kRestricted) {
      restricted();
      return {};
    }
    if (!p_.arithmetic.operators.empty() || !p_.arithmetic.functions.empty())
      refuse("arithmetic", "goes with mode = \"restricted\" only");
    limits();
    workdir();
    scratch();
    binds();
    devices();
    interpreters();
    std::vector<std::string> in_force = ordered(syscalls());
    reasons(in_force);
    return in_force;
  }

 private:
  // ---- one rule each ----

  void identity() {
    constexpr std::string_view kChars = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    if (p_.name.empty() || p_.name.size() > 64 ||
        p_.name.find_first_not_of(kChars) != std::string::npos)
      refuse("name", "must be 1 to 64 of a-z, 0-9, \"_\" and \"-\"");
    if (p_.why.empty()) refuse("why", "is missing; say in one line what the policy is for");
    if (p_.fallback && *p_.fallback != "restricted")
      refuse("fallback", "can only be \"restricted\"; leave it out to refuse instead");
    if (p_.fallback && p_.mode == Mode::kRestricted)
      refuse("fallback", "has no meaning with mode = \"restricted\"; remove it");
  }

  void session() {
    const Session& s = p_.session;
    if (p_.mode == Mode::kRestricted && s == Session{}) return;
    between("session.idle", s.idle, 1s, 24h);
    between("session.lifetime", s.lifetime, 1s, 366 * 24h);
    between("session.max_sessions", s.max_sessions, 1, 4096);
    if (s.idle > s.lifetime)
      refuse("session.idle", print_duration(s.idle) + " is longer than session.lifetime (" +
                                 print_duration(s.lifetime) + ")");
  }

  void restricted() {
    const Policy plain;
    if (!(p_.files == plain.files && p_.limits == plain.limits && p_.syscalls == plain.syscalls &&
          p_.interpreters.empty() && p_.unsafe.empty()))
      refuse("mode",
             "\"restricted\" starts no process: remove [files], [limits], [syscalls], "
             "[interpreters] and [unsafe]");
    names("arithmetic.operators", p_.arithmetic.operators, kOperators);
    names("arithmetic.functions", p_.arithmetic.functions, kFunctions);
  }

  template <std::size_t N>
  void names(std::string_view key, const std::vector<std::string>& list,
             const std::array<std::string_view, N>& known) {
    for (const std::string& name : list) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::vector<std::string> words(known.begin(), known.end());
      refuse(key, "\"" + printable(name) + "\" is not one of " + join(words));
    }
  }

  void limits() {
    const Limits& l = p_.limits;
    between("limits.memory", l.memory, jail::mib(16), Bytes{std::uint64_t{1} << 44U});
    between("limits.cpu_time", l.cpu_time, 10ms, 366 * 24h);
    between("limits.wall_time", l.wall_time, 10ms, 366 * 24h);
    between("limits.grace", l.grace, 1ms, 60s);
    between("limits.processes", l.processes, 1, 32768);
    between("limits.open_files", l.open_files, 16, 65536);
    between("limits.file_size", l.file_size, Bytes{1}, Bytes{std::uint64_t{1} << 44U});
    between("limits.output", l.output, jail::kib(1), Bytes{std::uint64_t{1} << 30U});
  }

  void workdir() {
    const Tmpfs& w = p_.files.workdir;
    tmpfs("files.workdir", w);
    if (w.size > p_.limits.memory)
      refuse("files.workdir.size", print_size(w.size) + " is more than limits.memory (" +
                                       print_size(p_.limits.memory) +
                                       "); the workdir lives in memory");
    between("files.max_file", p_.files.max_file, Bytes{1}, w.size);
    between("files.outputs", p_.files.outputs, 1, 10000);
  }

  void scratch() {
    std::vector<std::string> seen{p_.files.workdir.path};
    for (const Tmpfs& fs : p_.files.scratch) {
      const std::string key = "files.scratch " + fs.path;
      tmpfs(key, fs);
      if (fs.size > p_.limits.memory)
        refuse(key, print_size(fs.size) + " is more than limits.memory (" +
                        print_size(p_.limits.memory) + "); it lives in memory");
      for (const std::string& other : seen)
        if (is_below(other, fs.path) || is_below(fs.path, other))
          refuse(key, "lies within \"" + other + "\" or the other way round");
      seen.push_back(fs.path);
    }
  }

  void tmpfs(const std::string& key, const Tmpfs& fs) {
    if (fs.path.empty()) refuse(key, "path is missing, e.g. path = \"/mnt/data\"");
    if (const std::string wrong = refuse_path(fs.path); !wrong.empty()) refuse(key, wrong);
    for (const std::string_view taken : {"/proc", "/sys", "/etc", "/usr", "/run/sandglass"})
      if (is_below(fs.path, taken) || fs.path == "/dev" || fs.path == "/")
        refuse(key, "\"" + fs.path + "\" is not free for a writable folder");
    between(key + ".size", fs.size, jail::kib(64), Bytes{std::uint64_t{1} << 44U});
    between(key + ".inodes", fs.inodes, 16, 10'000'000);
  }

  void binds() {
    if (p_.files.read_only.empty() && !p_.interpreters.empty())
      refuse("files.read_only", "is empty, so no interpreter can be seen; add e.g. \"/usr\"");
    for (const Bind& b : p_.files.read_only) {
      const std::string key = "files.read_only " + b.target;
      if (const std::string wrong = refuse_bind_source(b.source); !wrong.empty())
        refuse(key, wrong);
      if (const std::string wrong = refuse_bind_source(b.target); !wrong.empty())
        refuse(key, "target: " + wrong);
      if (is_below(b.target, p_.files.workdir.path) || is_below(p_.files.workdir.path, b.target))
        refuse(key, "overlaps the workdir \"" + p_.files.workdir.path + '"');
    }
  }

  void devices() {
    for (const std::string& d : p_.files.devices) {
      if (const std::string wrong = refuse_path(d); !wrong.empty()) refuse("files.devices", wrong);
      if (!is_below(d, "/dev") || d == "/dev")
        refuse("files.devices", "\"" + printable(d) + "\" is not below /dev");
    }
  }

  void interpreters() {
    for (const auto& [name, i] : p_.interpreters) {
      const std::string key = "interpreters." + name;
      if (i.command.empty()) refuse(key, "command is missing, e.g. [\"/usr/bin/python3\"]");
      const std::string& program = i.command.front();
      if (const std::string wrong = refuse_path(program); !wrong.empty())
        refuse(key + ".command", wrong);
      if (!visible(program))
        refuse(key + ".command", "\"" + program + "\" is not below any of files.read_only");
      if (i.extension.size() < 2 || i.extension[0] != '.' ||
          i.extension.find('/') != std::string::npos)
        refuse(key + ".extension", "must be like \".py\"");
      if (i.package.empty()) refuse(key + ".package", "is missing: the Debian package to install");
      for (const auto& [variable, value] : i.env)
        if (variable.empty() || variable.find('=') != std::string::npos)
          refuse(key + ".env", "\"" + printable(variable) + "\" is no name for a variable");
      for (const auto& [source, target] : i.warm) warm(key + ".warm", source, target);
    }
  }

  void warm(const std::string& key, const std::string& source, const std::string& target) {
    if (source.starts_with('/') || refuse_path('/' + source) != "")
      refuse(key, "source \"" + printable(source) + "\" must be relative, without \"..\"");
    if (const std::string wrong = refuse_path(target); !wrong.empty()) refuse(key, wrong);
    if (is_below(target, p_.files.workdir.path)) return;
    for (const Tmpfs& fs : p_.files.scratch)
      if (is_below(target, fs.path)) return;
    refuse(key, "target \"" + target + "\" is in no writable folder");
  }

  bool visible(const std::string& program) const {
    return std::any_of(p_.files.read_only.begin(), p_.files.read_only.end(),
                       [&](const Bind& b) { return is_below(program, b.target); });
  }

  // What the allowed sets weaken.
  std::vector<std::string> syscalls() {
    auto allowed = allowed_calls(p_.syscalls, table_);
    if (!allowed) {
      if (allowed.error().key.empty()) throw Error{allowed.error().text};
      refuse(allowed.error().key, allowed.error().text);
    }
    for (const auto& [number, name] : {std::pair{0, "read"}, std::pair{1, "write"}})
      if (!allowed->calls.contains(number))
        refuse("syscalls.allow",
               "lacks " + std::string(name) + ", without which nothing runs; allow \"@files\"");
    constexpr std::array<std::pair<int, std::string_view>, 3> kMust{
        {{15, "rt_sigreturn"}, {219, "restart_syscall"}, {231, "exit_group"}}};
    for (const auto& [number, name] : kMust)
      if (!allowed->calls.contains(number))
        refuse("syscalls.allow", "lacks " + std::string(name) +
                                     ", without which nothing runs; allow \"@base\" and "
                                     "\"@signals\"");
    return std::move(allowed->weakenings);
  }

  // With what the files weaken.
  std::vector<std::string> ordered(std::vector<std::string> found) const {
    const Files& f = p_.files;
    const auto runs = [](const Tmpfs& fs) { return fs.exec == jail::Exec::kExec; };
    if (runs(f.workdir)) found.emplace_back("exec_from_workdir");
    if (std::any_of(f.scratch.begin(), f.scratch.end(), runs))
      found.emplace_back("exec_from_scratch");
    if (f.proc == jail::ProcView::kMasked) found.emplace_back("whole_proc");
    if (!std::all_of(f.devices.begin(), f.devices.end(), plain_device))
      found.emplace_back("extra_devices");
    if (std::any_of(f.read_only.begin(), f.read_only.end(),
                    [](const Bind& b) { return host_data(b.source); }))
      found.emplace_back("host_files");
    std::vector<std::string> all;
    for (const Weakening& w : kWeakenings)
      if (std::find(found.begin(), found.end(), w.key) != found.end()) all.emplace_back(w.key);
    return all;
  }

  void reasons(const std::vector<std::string>& in_force) {
    for (const Unsafe& u : p_.unsafe) {
      const auto same = [&](const Weakening& w) { return w.key == u.key; };
      if (std::any_of(kWeakenings.begin(), kWeakenings.end(), same)) continue;
      std::vector<std::string> known;
      known.reserve(kWeakenings.size());
      for (const Weakening& w : kWeakenings) known.emplace_back(w.key);
      std::string hint = did_you_mean(u.key, known);
      if (hint.empty()) hint = "; known here: " + join(known);
      refuse("unsafe." + u.key, "unknown key" + hint);
    }
    for (const std::string& key : in_force) {
      const auto same = [&](const Unsafe& u) { return u.key == key; };
      if (std::any_of(p_.unsafe.begin(), p_.unsafe.end(), same)) continue;
      const auto it = std::find_if(kWeakenings.begin(), kWeakenings.end(),
                                   [&](const Weakening& w) { return w.key == key; });
      throw Error{where(cause_of(key)) + "unsafe." + key +
                  ": a reason is missing: under this policy " + std::string(it->means) +
                  "; write  [unsafe]  " + key + " = \"why\""};
    }
  }

  // The key that weakens, which may stand in another file than the reasons that are there.
  std::string_view cause_of(std::string_view weakening) const {
    if (weakening == "exec_from_workdir") return "files.workdir.exec";
    if (weakening == "exec_from_scratch") return "files.scratch";
    if (weakening == "whole_proc") return "files.proc";
    if (weakening == "extra_devices") return "files.devices";
    if (weakening != "host_files") return "syscalls.allow";
    const auto required = [](const Bind& b) {
      return host_data(b.source) && b.presence == jail::Presence::kRequired;
    };
    const std::vector<Bind>& all = p_.files.read_only;
    return std::any_of(all.begin(), all.end(), required) ? "files.read_only"
                                                         : "files.read_only_if_present";
  }

  // ---- help ----

  static std::string text(Bytes v) { return print_size(v); }
  static std::string text(Millis v) { return print_duration(v); }
  static std::string text(std::uint64_t v) { return std::to_string(v); }

  template <class T>
  void between(const std::string& key, T value, std::type_identity_t<T> least,
               std::type_identity_t<T> most) {
    if (value == T{}) refuse(key, "is missing; it may be " + text(least) + " to " + text(most));
    if (value < least || value > most)
      refuse(key, text(value) + " is out of range; it may be " + text(least) + " to " + text(most));
  }

  [[noreturn]] void refuse(std::string_view key, std::string_view what) const {
    throw Error{where(key) + std::string(key) + ": " + std::string(what)};
  }

  // The place of the key, or of the table it lies in, or else the policy.
  std::string where(std::string_view key) const {
    for (std::string_view k = key; !k.empty();) {
      if (const auto found = places_.find(k); found != places_.end()) return found->second + ": ";
      const std::size_t dot = k.rfind('.');
      k = dot == std::string_view::npos ? std::string_view{} : k.substr(0, dot);
    }
    return "policy \"" + printable(p_.name) + "\": ";
  }

  const Policy& p_;
  const SyscallTable& table_;
  const Places& places_;
};

}  // namespace

Result<std::vector<std::string>> validate(const Policy& policy, const SyscallTable& table,
                                          const Places& places) {
  try {
    return Validator(policy, table, places).check();
  } catch (Error& e) {
    return tl::unexpected<Error>(std::move(e));
  }
}

std::string refuse_path(std::string_view path) {
  const std::string shown = '"' + printable(path) + '"';
  if (path.empty()) return "the path is empty";
  if (path.size() >= 4096) return "the path is longer than 4095 bytes";
  if (path[0] != '/') return shown + " is not absolute; begin with \"/\"";
  if (path.find_first_of(std::string_view("\0\n\r\t", 4)) != std::string_view::npos)
    return shown + " contains a control character";
  if (path != "/" && path.back() == '/') return shown + " ends in \"/\"; leave that out";
  for (std::size_t at = 1; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part.empty()) return shown + " contains \"//\"";
    if (part == "." || part == "..") return shown + " contains \"" + std::string(part) + '"';
    at = end + 1;
  }
  return {};
}

std::string refuse_bind_source(std::string_view path) {
  if (std::string wrong = refuse_path(path); !wrong.empty()) return wrong;
  if (path == "/") return "\"/\" would show the whole host; name the folders that are needed";
  for (const std::string_view forbidden : kForbiddenBinds)
    if (is_below(path, forbidden))
      return '"' + printable(path) + "\" is never bound: " + std::string(forbidden) +
             " of the host leads out of the jail";
  return {};
}

}  // namespace policies
