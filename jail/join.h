// The payload that comes into a jail by joining it: a prototype, which is an interpreter with its
// libraries imported, forks, and the child enters the namespaces of an empty jail, gives up what an
// exec'ed payload gives up, and goes on in the interpreter.
//
// The prototype is the worker's child and has the worker's credentials: it owns the user namespaces
// of all jails, which setns(2) asks for, and nothing on the host. It must have one thread when it
// serves an order. It never runs a user's code.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "jail/error.h"
#include "jail/fd.h"
#include "jail/restrict.h"
#include "jail/wire.h"

namespace jail {

// What init opens of its own namespaces, in the order in which they are entered. The network first:
// it may be the worker's, and the user namespace, which gives the rights for the others, takes
// those over what is the worker's away. The pid namespace is the prototype's business, before the
// clone.
enum class Namespace : std::uint8_t { kNet, kUser, kMount, kIpc, kUts, kCgroup, kPid };
inline constexpr std::size_t kNamespaces = 7;

// worker -> prototype. With it: plan, report (write end), go (read end), control, stdin, stdout,
// stderr, the namespaces, then `tasks` files of the jail's cgroups, then the command if it
// `executes`, then the Landlock ruleset if there is one.
struct JoinOrder {
  std::uint32_t magic = kWireMagic;
  std::uint32_t tasks = 0;
  std::uint64_t serial = 0;    // of the jail
  std::uint32_t executes = 0;  // 1: the child executes a command once it is in
  std::uint32_t unused = 0;
  JailFacts facts;
};
inline constexpr std::size_t kJoinFds = 7 + kNamespaces;

// prototype -> worker: the child's process id as the worker sees it, or why there is none.
struct JoinReply {
  std::uint32_t magic = kWireMagic;
  std::int32_t pid = -1;
  std::uint64_t serial = 0;
  SetupError error;
};

// child -> worker over `report`: what failed, or that it waits for a byte on `go`, with the number
// of its seccomp listener (-1: none). Then the end of file, when it is on its own: or a second
// report, if the command could not be executed.
struct JoinReport {
  SetupError error;
  std::int32_t listener = -1;
};

// What an interpreter has to do around a fork.
struct ForkHooks {
  void (*before)() = nullptr;
  void (*in_parent)() = nullptr;
  void (*in_child)() = nullptr;
};

// sandglass_join, below. A child that executes a command does not return.
int serve_join(int orders, const ForkHooks& hooks);

}  // namespace jail

extern "C" {
// Waits for one order on the socket `orders` and serves it. Returns 0 in the prototype; 1 in the
// child, which is in its jail then, with stdin, stdout and stderr in place, its control channel as
// fd 3 and nothing else open; -1 when there will be no more orders. CPython's PyOS_BeforeFork,
// PyOS_AfterFork_Parent and PyOS_AfterFork_Child are called around the fork: with the GIL held.
__attribute__((visibility("default"))) int sandglass_join(int orders);
}
