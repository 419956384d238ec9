// What a payload can touch from inside, as plain data: read off a policy (static_reach.h), or
// found by a program inside another sandbox (measured.h). Value types; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace runner::reach {

enum class Origin { kPolicy, kMeasured };

// Of a system call, as far as the seccomp filter decides. Tested: with some arguments only.
enum class Opening { kClosed, kTested, kOpen, kUnknown };

struct Call {
  int number = 0;  // x86-64
  std::string name;
  std::string group;   // a set of syscalls.toml ("files"), "never", or "in no set"
  int group_rank = 0;  // groups in the order of syscalls.toml
  Opening opening = Opening::kClosed;
  std::vector<std::string> when;  // the tests, or-ed, as syscalls.toml writes them; kTested only
};

// Something a person would ask for by name, and whether the filter lets the call for it through.
struct Act {
  std::string name;  // "start a process"
  std::string call;  // "clone"
  Opening opening = Opening::kClosed;
};

struct SocketFamily {
  std::string family;              // "AF_UNIX"
  std::vector<std::string> types;  // "stream", "datagram", ...: those that can be made
};

enum class Place {
  kHost,    // the host's own, bound
  kMemory,  // a tmpfs of the sandbox's own
  kMade,    // a file or link made for the sandbox
  kProc,
  kOther,
};

enum class Write { kNo, kYes };
enum class Run { kNo, kYes };

struct Path {
  std::string path;
  Place place = Place::kOther;
  Write write = Write::kNo;
  Run run = Run::kNo;           // programs there can be executed, as far as the mount decides
  std::uint64_t max_bytes = 0;  // kMemory: its size; 0: not known
};

struct Limit {
  std::string name;                    // "memory", "open_files"
  std::optional<std::uint64_t> value;  // absent: unlimited
  std::string unit;                    // "bytes", "ms", "us", "count"
  std::string scope;                   // "all processes together", "each process", ...
};

struct Surface {
  std::string subject;
  Origin origin = Origin::kPolicy;
  std::string filter;  // "allow-list", "none", "no process is started", ...
  std::vector<Call> calls;
  std::vector<Act> acts;
  std::vector<SocketFamily> sockets;
  std::string network;  // a sentence
  std::vector<Path> paths;
  std::vector<std::string> devices;
  std::string processes;                  // which processes it sees: a sentence
  std::vector<std::string> namespaces;    // of its own: "user", "mount", ...
  std::vector<std::string> effective;     // capabilities; empty: none
  std::vector<std::string> bounding;      // those that a program could still bring
  std::optional<bool> no_new_privileges;  // absent: not known
  std::vector<Limit> limits;
  std::vector<std::string> notes;  // what could not be found out, and why
};

// Those with some arguments count.
int count_reachable(const Surface& surface);

std::string_view opening_text(Opening opening) noexcept;  // "closed", "some arguments", "open"
std::string_view place_text(Place place) noexcept;
std::string limit_text(const Limit& limit);  // "1G", "10s", "64", "unlimited"

}  // namespace runner::reach
