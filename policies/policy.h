// A policy as a value: what code under it may see, call and use. Parsed from TOML (parse.h),
// checked (validate.h), narrowed by a request (narrow.h), turned into a jail::Spec (compile.h).
// Plain data; copyable; comparable; any thread. README.md says what each key means.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jail/spec.h"
#include "jail/units.h"

namespace policies {

using jail::Bytes;
using jail::Millis;

enum class Mode { kJail, kRestricted };  // restricted: no process at all, the arithmetic evaluator
enum class Start { kExec, kJoin };
enum class OnDeny { kExplain, kKill };

struct Interpreter {
  std::vector<std::string> command;  // {"/usr/bin/python3"}; the code file and args follow
  std::string extension;             // ".py": the code file's name ends so
  std::string package;               // the Debian package that brings it
  std::map<std::string, std::string> env;
  Start start = Start::kExec;
  std::vector<std::string> preload;  // modules a prototype imports
  // Files put into the jail before start when they exist on the host: warm caches.
  // {share-relative source, absolute target}
  std::vector<std::pair<std::string, std::string>> warm;
  bool operator==(const Interpreter&) const = default;
};

struct Bind {
  std::string source;
  std::string target;  // equal to source unless given
  jail::Exec exec = jail::Exec::kExec;
  jail::Presence presence = jail::Presence::kRequired;
  bool operator==(const Bind&) const = default;
};

struct Tmpfs {
  std::string path;
  Bytes size{};
  std::uint64_t inodes = 0;
  jail::Exec exec = jail::Exec::kNoExec;
  bool operator==(const Tmpfs&) const = default;
};

struct Files {
  std::vector<Bind> read_only;
  Tmpfs workdir;
  std::vector<Tmpfs> scratch;        // /tmp, /dev/shm
  std::vector<std::string> devices;  // "/dev/null", ...
  bool devpts = false;
  bool mqueue = false;
  jail::ProcView proc = jail::ProcView::kNone;
  Bytes max_file{};           // one file brought out
  std::uint64_t outputs = 0;  // files brought out
  bool operator==(const Files&) const = default;
};

struct Limits {
  Bytes memory{};
  Millis cpu_time{};
  Millis wall_time{};
  Millis grace{};  // between SIGINT and SIGKILL
  std::uint64_t processes = 0;
  std::uint64_t open_files = 0;
  Bytes file_size{};
  Bytes output{};  // stdout and stderr, each
  bool operator==(const Limits&) const = default;
};

struct Syscalls {
  std::vector<std::string> allow;  // "@set" or a syscall's name
  std::vector<std::string> deny;
  OnDeny on_deny = OnDeny::kExplain;
  bool operator==(const Syscalls&) const = default;
};

enum class NetworkMode { kNone };  // packages, allowlist, all: later
struct Network {
  NetworkMode mode = NetworkMode::kNone;
  jail::Loopback loopback = jail::Loopback::kDown;
  bool operator==(const Network&) const = default;
};

struct Session {
  Millis idle{};
  Millis lifetime{};
  std::uint64_t max_sessions = 0;
  bool operator==(const Session&) const = default;
};

struct Arithmetic {
  std::vector<std::string> operators;  // of kOperators, beyond + - * /
  std::vector<std::string> functions;  // of kFunctions
  bool operator==(const Arithmetic&) const = default;
};

struct Unsafe {
  std::string key;     // which weakening: of kWeakenings (validate.h)
  std::string reason;  // why the author wants it
  bool operator==(const Unsafe&) const = default;
};

struct Policy {
  std::string name;
  std::string extends;  // the parent's name; its content is already merged
  std::string why;
  Mode mode = Mode::kJail;
  std::optional<std::string> fallback;  // "restricted", or absent: refuse to start
  Session session;
  std::map<std::string, Interpreter> interpreters;
  Files files;
  Limits limits;
  Syscalls syscalls;
  Network network;
  Arithmetic arithmetic;
  std::vector<Unsafe> unsafe;
  bool operator==(const Policy&) const = default;
};

}  // namespace policies
