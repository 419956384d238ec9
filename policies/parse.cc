#include "policies/parse.h"

#include <algorithm>
#include <array>

#include "policies/nearest.h"
#include "policies/quantity.h"
#include "policies/toml_reader.h"

namespace policies {
namespace {

// Writes one file over a Policy. Throws Error.
class Writer {
 public:
  Writer(const TomlReader& r, Policy& policy, Places& places)
      : r_(r), policy_(policy), places_(places) {}

  void write() {
    const toml::table& root = r_.root();
    r_.only(root, "",
            {"name", "extends", "why", "mode", "fallback", "session", "interpreters", "files",
             "limits", "syscalls", "network", "arithmetic", "unsafe"});
    top(root);
    each(root, "session", {"idle", "lifetime", "max_sessions"}, &Writer::session);
    interpreters(root);
    each(root, "files",
         {"read_only", "read_only_if_present", "workdir", "scratch", "devices", "devpts", "mqueue",
          "proc", "max_file", "outputs"},
         &Writer::files);
    each(root, "limits",
         {"memory", "cpu_time", "wall_time", "grace", "processes", "open_files", "file_size",
          "output"},
         &Writer::limits);
    each(root, "syscalls", {"allow", "deny", "on_deny"}, &Writer::syscalls);
    each(root, "network", {"mode", "loopback"}, &Writer::network);
    each(root, "arithmetic", {"operators", "functions"}, &Writer::arithmetic);
    unsafe(root);
  }

 private:
  using Member = void (Writer::*)(std::string_view key, const toml::node& node,
                                  const std::string& path);

  void each(const toml::table& root, std::string_view name,
            std::initializer_list<std::string_view> known, Member read) {
    const toml::node* node = root.get(name);
    if (node == nullptr) return;
    const toml::table& t = r_.table(*node, name);
    r_.only(t, name, known);
    for (const auto& [key, value] : t) {
      const std::string path = std::string(name) + '.' + std::string(key.str());
      note(path, value);
      (this->*read)(key.str(), value, path);
    }
  }

  void note(const std::string& path, const toml::node& node) {
    places_[path] = r_.place(node.source());
  }

  // ---- values ----

  Bytes size(const toml::node& node, const std::string& path) {
    return quantity(node, path, parse_size, "is a bare number; write a size with its unit, e.g. ",
                    "\"512M\"");
  }

  Millis duration(const toml::node& node, const std::string& path) {
    return quantity(node, path, parse_duration,
                    "is a bare number; write a duration with its unit, e.g. ", "\"30s\"");
  }

  template <class T>
  T quantity(const toml::node& node, const std::string& path, Result<T> (*parse)(std::string_view),
             std::string_view bare, std::string_view example) {
    if (node.is_number()) r_.refuse(node.source(), path, std::string(bare) + std::string(example));
    const auto value = parse(r_.string(node, path));
    if (!value) r_.refuse(node.source(), path, value.error().text);
    return *value;
  }

  std::uint64_t count(const toml::node& node, const std::string& path) {
    const std::int64_t n = r_.integer(node, path);
    if (n < 1) r_.refuse(node.source(), path, std::to_string(n) + " is too small; the least is 1");
    const auto value = parse_count(std::to_string(n));
    if (!value) r_.refuse(node.source(), path, value.error().text);
    return *value;
  }

  template <class T, std::size_t N>
  T word(const toml::node& node, const std::string& path,
         const std::array<std::pair<std::string_view, T>, N>& words) {
    const std::string text = r_.string(node, path);
    std::string all;
    for (const auto& [name, value] : words) {
      if (name == text) return value;
      all += (all.empty() ? "\"" : ", \"") + std::string(name) + '"';
    }
    r_.refuse(node.source(), path, '"' + printable(text) + "\" is not one of " + all);
  }

  // Adds, without repeating what is there.
  void add(std::vector<std::string>& list, const toml::node& node, const std::string& path) {
    for (std::string& s : r_.strings(node, path))
      if (std::find(list.begin(), list.end(), s) == list.end()) list.push_back(std::move(s));
  }

  // ---- tables ----

  void top(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const std::string path(key.str());
      if (path == "name") policy_.name = r_.string(node, path);
      if (path == "why") policy_.why = r_.string(node, path);
      if (path == "extends") policy_.extends = r_.string(node, path);
      if (path == "fallback") policy_.fallback = r_.string(node, path);
      if (path == "mode")
        policy_.mode =
            word<Mode, 2>(node, path, {{{"jail", Mode::kJail}, {"restricted", Mode::kRestricted}}});
      note(path, node);
    }
  }

  void session(std::string_view key, const toml::node& node, const std::string& path) {
    if (key == "idle") policy_.session.idle = duration(node, path);
    if (key == "lifetime") policy_.session.lifetime = duration(node, path);
    if (key == "max_sessions") policy_.session.max_sessions = count(node, path);
  }

  void limits(std::string_view key, const toml::node& node, const std::string& path) {
    Limits& l = policy_.limits;
    if (key == "memory") l.memory = size(node, path);
    if (key == "cpu_time") l.cpu_time = duration(node, path);
    if (key == "wall_time") l.wall_time = duration(node, path);
    if (key == "grace") l.grace = duration(node, path);
    if (key == "processes") l.processes = count(node, path);
    if (key == "open_files") l.open_files = count(node, path);
    if (key == "file_size") l.file_size = size(node, path);
    if (key == "output") l.output = size(node, path);
  }

  void syscalls(std::string_view key, const toml::node& node, const std::string& path) {
    Syscalls& s = policy_.syscalls;
    if (key == "on_deny") {
      s.on_deny =
          word<OnDeny, 2>(node, path, {{{"explain", OnDeny::kExplain}, {"kill", OnDeny::kKill}}});
      return;
    }
    std::vector<std::string>& list = key == "allow" ? s.allow : s.deny;
    add(list, node, path);
    // Keys come in alphabetical order, so what this file itself denies is not lifted here.
    if (key == "allow")
      for (const std::string& lifted : r_.strings(node, path)) std::erase(s.deny, lifted);
    const toml::array& words = *node.as_array();
    for (std::size_t i = 0; i < words.size(); ++i)
      note("syscalls." + std::string(key) + ' ' + words[i].as_string()->get(), words[i]);
  }

  void network(std::string_view key, const toml::node& node, const std::string& path) {
    if (key == "loopback") {
      policy_.network.loopback = word<jail::Loopback, 2>(
          node, path, {{{"down", jail::Loopback::kDown}, {"up", jail::Loopback::kUp}}});
      return;
    }
    const std::string mode = r_.string(node, path);
    if (mode != "none")
      r_.refuse(node.source(), path,
                '"' + printable(mode) + "\" is not offered yet; the only mode is \"none\"");
    policy_.network.mode = NetworkMode::kNone;
  }

  void arithmetic(std::string_view key, const toml::node& node, const std::string& path) {
    add(key == "operators" ? policy_.arithmetic.operators : policy_.arithmetic.functions, node,
        path);
  }

  void unsafe(const toml::table& root) {
    const toml::node* node = root.get("unsafe");
    if (node == nullptr) return;
    for (const auto& [key, value] : r_.table(*node, "unsafe")) {
      const std::string name(key.str());
      note("unsafe." + name, value);
      std::string reason = r_.string(value, "unsafe." + name);
      if (reason.find_first_not_of(' ') == std::string::npos)
        r_.refuse(value.source(), "unsafe." + name, "is empty; say why you want it");
      auto& all = policy_.unsafe;
      const auto same = [&](const Unsafe& u) { return u.key == name; };
      if (auto old = std::find_if(all.begin(), all.end(), same); old != all.end())
        old->reason = std::move(reason);
      else
        all.push_back({name, std::move(reason)});
    }
    std::sort(policy_.unsafe.begin(), policy_.unsafe.end(),
              [](const Unsafe& a, const Unsafe& b) { return a.key < b.key; });
  }

  // ---- files ----

  void files(std::string_view key, const toml::node& node, const std::string& path) {
    Files& f = policy_.files;
    if (key == "read_only") binds(node, path, jail::Presence::kRequired);
    if (key == "read_only_if_present") binds(node, path, jail::Presence::kOptional);
    if (key == "workdir") tmpfs(f.workdir, node, path);
    if (key == "scratch") scratch(node, path);
    if (key == "devices") add(f.devices, node, path);
    if (key == "devpts") f.devpts = r_.boolean(node, path);
    if (key == "mqueue") f.mqueue = r_.boolean(node, path);
    if (key == "max_file") f.max_file = size(node, path);
    if (key == "outputs") f.outputs = count(node, path);
    if (key == "proc")
      f.proc = word<jail::ProcView, 3>(node, path,
                                       {{{"none", jail::ProcView::kNone},
                                         {"own", jail::ProcView::kOwnPids},
                                         {"masked", jail::ProcView::kMasked}}});
  }

  void binds(const toml::node& node, const std::string& path, jail::Presence presence) {
    std::size_t i = 0;
    for (const toml::node& n : r_.array(node, path)) {
      Bind b = bind(n, path + '[' + std::to_string(i++) + ']');
      b.presence = presence;
      note("files.read_only " + b.target, n);
      auto& all = policy_.files.read_only;
      const auto same = [&](const Bind& old) { return old.target == b.target; };
      if (auto old = std::find_if(all.begin(), all.end(), same); old != all.end())
        *old = std::move(b);
      else
        all.push_back(std::move(b));
    }
    // One order however the files were merged: as `show` prints them.
    std::stable_partition(policy_.files.read_only.begin(), policy_.files.read_only.end(),
                          [](const Bind& b) { return b.presence == jail::Presence::kRequired; });
  }

  Bind bind(const toml::node& node, const std::string& path) {
    Bind b;
    if (node.is_string()) {
      b.source = b.target = r_.string(node, path);
      return b;
    }
    const toml::table& t = r_.table(node, path);
    r_.only(t, path, {"source", "target", "exec"});
    const toml::node* source = t.get("source");
    if (source == nullptr) r_.refuse(t.source(), path, "source is missing");
    b.source = b.target = r_.string(*source, path + ".source");
    if (const toml::node* n = t.get("target")) b.target = r_.string(*n, path + ".target");
    if (const toml::node* n = t.get("exec"))
      b.exec = r_.boolean(*n, path + ".exec") ? jail::Exec::kExec : jail::Exec::kNoExec;
    return b;
  }

  void tmpfs(Tmpfs& fs, const toml::node& node, const std::string& path) {
    const toml::table& t = r_.table(node, path);
    r_.only(t, path, {"path", "size", "inodes", "exec"});
    for (const auto& [key, value] : t) {
      const std::string full = path + '.' + std::string(key.str());
      note(full, value);
      if (key.str() == "path") fs.path = r_.string(value, full);
      if (key.str() == "size") fs.size = size(value, full);
      if (key.str() == "inodes") fs.inodes = count(value, full);
      if (key.str() == "exec")
        fs.exec = r_.boolean(value, full) ? jail::Exec::kExec : jail::Exec::kNoExec;
    }
  }

  // A place that is there already is changed, key by key; others are added.
  void scratch(const toml::node& node, const std::string& path) {
    std::size_t i = 0;
    for (const toml::node& n : r_.array(node, path)) {
      const std::string full = path + '[' + std::to_string(i++) + ']';
      Tmpfs named;
      tmpfs(named, n, full);
      if (named.path.empty()) r_.refuse(n.source(), full, "path is missing");
      note("files.scratch " + named.path, n);
      auto& all = policy_.files.scratch;
      const auto same = [&](const Tmpfs& old) { return old.path == named.path; };
      auto old = std::find_if(all.begin(), all.end(), same);
      if (old == all.end()) old = all.insert(all.end(), Tmpfs{});
      tmpfs(*old, n, full);
    }
  }

  // ---- interpreters ----

  void interpreters(const toml::table& root) {
    const toml::node* node = root.get("interpreters");
    if (node == nullptr) return;
    for (const auto& [key, value] : r_.table(*node, "interpreters")) {
      const std::string path = "interpreters." + std::string(key.str());
      note(path, value);
      interpreter(policy_.interpreters[std::string(key.str())], value, path);
    }
  }

  void interpreter(Interpreter& i, const toml::node& node, const std::string& path) {
    const toml::table& t = r_.table(node, path);
    r_.only(t, path, {"command", "extension", "package", "env", "start", "preload", "warm"});
    for (const auto& [key, value] : t) {
      const std::string full = path + '.' + std::string(key.str());
      note(full, value);
      // A command is one thing, not a list to add to.
      if (key.str() == "command") i.command = r_.strings(value, full);
      if (key.str() == "extension") i.extension = r_.string(value, full);
      if (key.str() == "package") i.package = r_.string(value, full);
      if (key.str() == "preload") {
        if (r_.array(value, full).empty()) i.preload.clear();  // else what is inherited stays
        add(i.preload, value, full);
      }
      if (key.str() == "env") env(i, value, full);
      if (key.str() == "warm") warm(i, value, full);
      if (key.str() == "start")
        i.start = word<Start, 2>(value, full, {{{"exec", Start::kExec}, {"join", Start::kJoin}}});
    }
  }

  void env(Interpreter& i, const toml::node& node, const std::string& path) {
    for (const auto& [key, value] : r_.table(node, path)) {
      const std::string name(key.str());
      i.env[name] = r_.string(value, path + '.' + name);
    }
  }

  void warm(Interpreter& i, const toml::node& node, const std::string& path) {
    std::size_t n = 0;
    for (const toml::node& entry : r_.array(node, path)) {
      const std::string full = path + '[' + std::to_string(n++) + ']';
      const toml::table& t = r_.table(entry, full);
      r_.only(t, full, {"source", "target"});
      const toml::node* source = t.get("source");
      const toml::node* target = t.get("target");
      if (source == nullptr || target == nullptr)
        r_.refuse(t.source(), full, "needs source and target");
      std::pair<std::string, std::string> both{r_.string(*source, full + ".source"),
                                               r_.string(*target, full + ".target")};
      if (std::find(i.warm.begin(), i.warm.end(), both) == i.warm.end())
        i.warm.push_back(std::move(both));
    }
  }

  const TomlReader& r_;
  Policy& policy_;
  Places& places_;
};

}  // namespace

Document::Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Result<Document> Document::read(std::string_view text, std::string file) {
  try {
    Document d;
    d.file_ = file;
    check_shape(text, d.file_);
    d.reader_ = std::make_unique<TomlReader>(text, std::move(file), 0);
    const TomlReader& r = *d.reader_;
    if (r.root().empty())
      return fail(d.file_ +
                  ":1:1: the policy is empty; it needs at least name and extends, e.g.  "
                  "name = \"mine\"  extends = \"standard\"");
    const toml::node* name = r.root().get("name");
    if (name == nullptr) return fail(d.file_ + ":1:1: name is missing; write  name = \"mine\"");
    d.name_ = r.string(*name, "name");
    d.name_place_ = r.place(name->source());
    if (const toml::node* extends = r.root().get("extends")) {
      d.extends_ = r.string(*extends, "extends");
      d.extends_place_ = r.place(extends->source());
    }
    return d;
  } catch (Error& e) {
    return tl::unexpected<Error>(std::move(e));
  }
}

Result<void> Document::apply(Policy& onto, Places& places) const {
  try {
    onto.extends.clear();
    Writer(*reader_, onto, places).write();
    return {};
  } catch (Error& e) {
    return tl::unexpected<Error>(std::move(e));
  }
}

}  // namespace policies
