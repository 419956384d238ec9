#include "policies/explain.h"

#include <algorithm>

#include "jail/syscalls.h"
#include "policies/allowed.h"
#include "policies/compile.h"
#include "policies/nearest.h"
#include "policies/paths.h"
#include "policies/quantity.h"
#include "policies/validate.h"

namespace policies {
namespace {

bool can(const Allowed& allowed, std::string_view name) {
  const auto number = jail::syscall_number(name);
  return number && allowed.calls.contains(*number);
}

bool has_word(const Allowed& allowed, std::string_view call, std::string_view word) {
  const auto number = jail::syscall_number(call);
  if (!number) return false;
  const auto found = allowed.calls.find(*number);
  return found != allowed.calls.end() &&
         std::find(found->second.words.begin(), found->second.words.end(), word) !=
             found->second.words.end();
}

std::string arithmetic(const Policy& policy) {
  std::vector<std::string> more = policy.arithmetic.operators;
  more.insert(more.end(), policy.arithmetic.functions.begin(), policy.arithmetic.functions.end());
  return "Starts no process at all: one arithmetic expression is evaluated. Beyond + - * /: " +
         (more.empty() ? "nothing" : join(more)) + ".\n";
}

std::string processes(const Allowed& allowed) {
  if (can(allowed, "execve")) return "Can start threads, processes and the programs it sees.\n";
  return "Can start threads. Cannot start processes or programs.\n";
}

std::string network(const Policy& policy, const Allowed& allowed) {
  if (!can(allowed, "socket")) return "Cannot open sockets. There is no network.\n";
  if (!has_word(allowed, "socket", "@inet"))
    return "Can use local (AF_UNIX) sockets between its own processes; sockets in bound folders "
           "can "
           "be connected to. There is no network.\n";
  return std::string("Can use TCP and UDP inside a network of its own, ") +
         (policy.network.loopback == jail::Loopback::kUp ? "with loopback up"
                                                         : "with no interface") +
         ". There is no way out of it" +
         (has_word(allowed, "socket", "@local_sockets")
              ? "; sockets in bound folders can be connected to.\n"
              : ".\n");
}

std::string memory(const Policy& policy) {
  const auto same = [](const Unsafe& u) { return u.key == "writable_code"; };
  if (std::any_of(policy.unsafe.begin(), policy.unsafe.end(), same))
    return "Can make machine code while it runs.\n";
  return "Cannot make machine code while it runs (no memory is writable and executable).\n";
}

std::string files(const Policy& policy) {
  std::vector<std::string> seen;
  const auto table = mount_table(policy, {});
  for (const Placed& p : table.value_or(std::vector<Placed>{}))
    if (p.mount.kind == jail::MountKind::kBind) seen.push_back(p.mount.target);
  const auto exec = [](const Tmpfs& fs) {
    return fs.exec == jail::Exec::kExec ? "; programs there can be run"
                                        : "; nothing there can be run";
  };
  std::string text = "Sees, read-only: " + join(seen) + ".\n";
  const Tmpfs& w = policy.files.workdir;
  text += "Can write to " + w.path + " (" + print_size(w.size) + ", " + std::to_string(w.inodes) +
          " files" + exec(w) + ").\n";
  for (const Tmpfs& fs : policy.files.scratch)
    text += "Can write to " + fs.path + " (" + print_size(fs.size) + exec(fs) + ").\n";
  text += "Everything written is in memory and gone when the jail ends, but for at most " +
          std::to_string(policy.files.outputs) + " files of up to " +
          print_size(policy.files.max_file) + " that are handed out.\n";
  switch (policy.files.proc) {
    case jail::ProcView::kNone:
      return text + "There is no /proc and no /sys.\n";
    case jail::ProcView::kOwnPids:
      return text + "/proc shows its own processes and nothing else. There is no /sys.\n";
    case jail::ProcView::kMasked:
      break;
  }
  return text + "/proc is whole, with the worst of the host masked. There is no /sys.\n";
}

std::string limits(const Policy& policy) {
  const Limits& l = policy.limits;
  return "Limits: memory " + print_size(l.memory) + ", CPU time " + print_duration(l.cpu_time) +
         ", wall time " + print_duration(l.wall_time) + ", " + std::to_string(l.processes) +
         " threads and processes, " + std::to_string(l.open_files) + " open files each, files of " +
         print_size(l.file_size) + ", output " + print_size(l.output) + " each way.\n";
}

std::string interpreters(const Policy& policy) {
  std::vector<std::string> names;
  for (const auto& [name, i] : policy.interpreters)
    names.push_back(name + " (" + i.command[0] + ')');
  return names.empty() ? "" : "Runs: " + join(names) + ".\n";
}

// "a/../b" -> "/mnt/data/b"
std::string lexical(std::string_view path, const std::string& workdir) {
  const std::string whole =
      path.starts_with('/') ? std::string(path) : workdir + '/' + std::string(path);
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = std::min(whole.find('/', at), whole.size());
    const std::string part = whole.substr(at, end - at);
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    at = end + 1;
  }
  std::string clean;
  for (const std::string& p : parts) clean += '/' + p;
  return clean.empty() ? "/" : clean;
}

PathAnswer answer(const std::string& path, const Placed& placed) {
  const jail::Mount& m = placed.mount;
  switch (m.kind) {
    case jail::MountKind::kBind:
      return {PathView::kReadOnly, placed.key,
              path + " is read-only: it belongs to \"" + m.target + "\" of files.read_only" +
                  (m.presence == jail::Presence::kOptional ? "_if_present" : "")};
    case jail::MountKind::kTmpfs:
      return {PathView::kWritable, placed.key,
              path + " is writable, in memory: " + placed.key + " (" + print_size(m.size) +
                  (m.exec == jail::Exec::kExec ? ")" : "; programs there cannot be run)")};
    case jail::MountKind::kDevice:
    case jail::MountKind::kDevpts:
    case jail::MountKind::kMqueue:
      return {PathView::kDevice, placed.key, path + " is a device of " + placed.key};
    case jail::MountKind::kSymlink:
      return {PathView::kMade, placed.key, path + " is a link to " + m.source};
    case jail::MountKind::kFile:
    case jail::MountKind::kDir:
      break;
  }
  return {PathView::kMade, placed.key,
          path + " is made by Sandglass and read-only; the host's own is not shown"};
}

}  // namespace

Result<std::string> explain(const Policy& policy, const SyscallTable& table, int reachable) {
  std::string text = policy.name + ": " + policy.why + ".\n";
  if (policy.mode == Mode::kRestricted) return text + arithmetic(policy);
  const auto allowed = allowed_calls(policy.syscalls, table);
  if (!allowed) return fail(allowed.error().text);
  text += interpreters(policy) + processes(*allowed) + network(policy, *allowed) + memory(policy) +
          files(policy) + limits(policy);
  text += "Can reach " + std::to_string(reachable) + " system calls; any other " +
          (policy.syscalls.on_deny == OnDeny::kKill ? "ends the process.\n"
                                                    : "fails with EPERM and is reported.\n");
  if (policy.fallback)
    text += "Where the host cannot give all this, only arithmetic is evaluated (fallback).\n";
  for (const Unsafe& u : policy.unsafe)
    for (const Weakening& w : kWeakenings)
      if (w.key == u.key)
        text += "Unsafe: " + std::string(w.means) + ". Reason: " + u.reason + '\n';
  return text;
}

PathAnswer explain_path(const Policy& policy, std::string_view path) {
  const std::string clean = lexical(path, policy.files.workdir.path);
  if (policy.mode == Mode::kRestricted)
    return {PathView::kHidden, "mode", printable(clean) + " is hidden: no process is started"};
  if (is_below(clean, "/proc")) {
    if (policy.files.proc == jail::ProcView::kNone)
      return {PathView::kHidden, "files.proc", clean + " is hidden: files.proc = \"none\""};
    return {PathView::kProc, "files.proc",
            clean + " is in /proc: files.proc = " +
                (policy.files.proc == jail::ProcView::kOwnPids ? "\"own\"" : "\"masked\"")};
  }
  if (is_below(clean, kCodeDir))
    return {PathView::kMade, "(made by Sandglass)", clean + " holds the code to run, read-only"};
  const auto table = mount_table(policy, {});
  const Placed* best = nullptr;
  if (table)
    for (const Placed& p : *table)
      if (is_below(clean, p.mount.target) &&
          (best == nullptr || p.mount.target.size() >= best->mount.target.size()))
        best = &p;
  const bool leads_on = is_below(kCodeDir, clean) ||
                        (table && std::any_of(table->begin(), table->end(), [&](const Placed& p) {
                           return is_below(p.mount.target, clean);
                         }));
  if (best == nullptr && leads_on)
    return {PathView::kMade, "(made by Sandglass)",
            printable(clean) +
                " is a read-only folder made by Sandglass; only what the policy shows is in it"};
  if (best == nullptr)
    return {PathView::kHidden, "files.read_only",
            printable(clean) + " is hidden: no entry of files.read_only shows it"};
  // "/lib/x" is looked up behind the link.
  if (best->mount.kind == jail::MountKind::kSymlink && clean != best->mount.target)
    return explain_path(policy, '/' + best->mount.source + clean.substr(best->mount.target.size()));
  return answer(printable(clean), *best);
}

Result<SyscallAnswer> explain_syscall(const Policy& policy, const SyscallTable& table, int number) {
  const std::string name = jail::syscall_name(number);
  const auto never = table.never();
  if (!never) return tl::unexpected(never.error());
  for (const NeverEntry& n : **never)
    if (n.number == number)
      return SyscallAnswer{"never",
                           name + " is on the never list: " + n.why + ". No policy may allow it."};
  const auto sets = table.sets_with(number);
  if (!sets) return tl::unexpected(sets.error());
  if (sets->empty())
    return SyscallAnswer{"unknown", name +
                                        " is in no set of syscalls.toml, so no policy can "
                                        "allow it."};
  const auto allowed = allowed_calls(policy.syscalls, table);
  if (!allowed) return fail(allowed.error().text);
  const auto mine = allowed->calls.find(number);
  if (mine != allowed->calls.end() && mine->second.alternatives.empty())
    return SyscallAnswer{sets->front()->name, name + " is allowed, whatever its arguments."};
  // The set to name is the first that is not in force: it would allow more.
  const SyscallSet* next = nullptr;
  for (const SyscallSet* s : *sets) {
    const auto& words = policy.syscalls.allow;
    if (next == nullptr && std::find(words.begin(), words.end(), '@' + s->name) == words.end())
      next = s;
  }
  std::string text = name;
  if (mine != allowed->calls.end()) text += " is allowed with certain arguments only";
  if (next == nullptr)
    return SyscallAnswer{sets->back()->name, text + (mine == allowed->calls.end()
                                                         ? " is taken away by syscalls.deny."
                                                         : "; no set allows other arguments.")};
  text += (mine != allowed->calls.end() ? "; the set @" : " is in the set @") + next->name + ": " +
          next->why + ". To allow it: [syscalls] allow = [\"@" + next->name + "\"]";
  if (!next->weakens.empty()) text += " and [unsafe] " + next->weakens + " = \"your reason\"";
  return SyscallAnswer{next->name, text + '.'};
}

}  // namespace policies
