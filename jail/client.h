// The caller's half of the spawner protocol (wire.h has the message layouts).
//
// A caller makes a plan once per jail shape and a command once per launch, both sealed memfds;
// sends one datagram per launch; and reads events from the same SOCK_SEQPACKET socket, which is
// meant to sit in the caller's event loop. Nothing here blocks except `start_spawner`'s fork.
// Thread rule: one connection, one thread. No exceptions.
#pragma once

#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "jail/error.h"
#include "jail/fd.h"
#include "jail/meter.h"
#include "jail/spec.h"

namespace jail {

// Compiles the filter, lays the Spec out flat and seals it. kPlan on a Spec that breaks its rules.
// Two launches share a pool exactly when they pass the same memfd.
Result<Fd> make_plan(const Spec& spec);

// argv, env, cwd and input paths, sealed. At most 4 MiB in all; kPlan/E2BIG beyond.
Result<Fd> make_command(const Command& command);

// Who enforces a limit. kNone: nobody (never for a limit that was asked for).
enum class Enforcer : std::uint8_t { kNone, kCgroupV2, kCgroupV1, kRlimit };

// What the spawner found on this host; sent once, first.
struct Hello {
  std::uint32_t version = 0;
  std::int32_t keeper_pid = 0;  // the exec'ed process (in the caller's pid namespace)
  std::int32_t worker_pid = 0;  // the process that makes jails
  Enforcer memory = Enforcer::kNone;
  Enforcer processes = Enforcer::kNone;
  Enforcer cpu_time = Enforcer::kNone;  // kRlimit: RLIMIT_CPU and sampling
  bool own_uid_per_jail = false;        // false: rootless, all jails run as the caller's uid
  bool drops_groups = false;            // false: rootless, supplementary groups stay
  std::uint32_t landlock_abi = 0;       // 0: no Landlock
  std::uint32_t slots = 0;              // jails at once
};

// A launch was carried out, or why not. `workdir` is an O_PATH fd of the jail's workdir: it stays
// readable after the jail has died, until it is closed. `init` is a pidfd.
struct Launched {
  std::uint64_t id = 0;
  std::optional<SetupError> error;
  Fd init;
  Fd workdir;
  MeterFiles meter;  // of a payload that joined, after send_meters
};

// Why the spawner killed a jail; kNone when it ended by itself.
enum class KillCause : std::uint8_t { kNone, kRequested, kMemory, kCpuTime, kWallTime };

// How a payload ended. From wait4, the cgroup and the spawner's samples: nothing in here comes
// from the payload.
struct Ended {
  std::uint64_t id = 0;
  std::int32_t wait_status = 0;  // wait4(2) of the payload; meaningless if !exited
  bool exited = false;           // false: the jail was killed before the payload could be reaped
  KillCause cause = KillCause::kNone;
  std::uint64_t oom_kills = 0;  // by the cgroup
  std::uint64_t process_limit_hits = 0;
  bool process_limit_hits_known = false;
  Bytes peak_memory{};
  Enforcer peak_memory_from = Enforcer::kNone;  // kRlimit: sampled
  Millis cpu_time{0};
  std::uint64_t denied_total = 0;  // calls answered by the listener
  bool denied_throttled = false;   // the payload flooded: late calls were answered slowly
};

// One kind of refused call: same number and same main arguments. At most 64 kinds per launch.
struct Denied {
  std::int32_t number = 0;
  std::array<std::uint64_t, 6> args{};  // of the first such call
  std::uint64_t count = 0;
  std::string text;  // a path or address argument, at most 120 bytes, as the payload gave it
};

struct DeniedList {
  std::uint64_t id = 0;
  std::vector<Denied> denied;
};

// What a payload that joined has used since it was armed.
struct Usage {
  Ended so_far;  // `exited` is false
};

// A prototype has ended, whatever the reason. Payloads that came from it go on.
struct PrototypeEnded {
  std::uint64_t id = 0;
  std::int32_t wait_status = 0;  // wait4(2)
};

// Per launch or join: one Launched; then, if it has no error, one Ended (before it, a DeniedList if
// any).
using Event = std::variant<Hello, Launched, DeniedList, Ended, PrototypeEnded, Usage>;

struct Stdio {
  const Fd& in;
  const Fd& out;
  const Fd& err;
};

// All return kProtocol with the errno of sendmsg(2) when the spawner is gone.
// `kill_after`: so long after its start the spawner kills the jail (KillCause::kWallTime), also
// while its caller is stopped. 0, and what does not fit 32 bits (49 days): never.
Result<void> send_launch(const Fd& socket, std::uint64_t id, const Fd& plan, const Fd& command,
                         Stdio stdio, std::span<const Fd> inputs, Millis kill_after = Millis(0));

// Starts a prototype: the command, run with the worker's credentials outside of any jail and
// without a network. It finds its orders (join.h) on fd 3 and `files` from fd 4 on: what it may not
// be able to open by name (on the host it is nobody). argv[0] is a path. `id` is the caller's
// choice, like a launch's, and at most 2^32 - 1.
Result<void> send_prototype(const Fd& socket, std::uint32_t id, const Fd& command, Stdio stdio,
                            std::span<const Fd> files);
// No new orders: it ends when it has served those it has.
Result<void> send_drop_prototype(const Fd& socket, std::uint32_t id);
// A child of the prototype joins a jail of `plan` (Spec::start == kJoin), with `control` as its
// fd 3. Prototype 0 is the spawner's own: its child executes `command` (no inputs) in the jail.
// Answered like a launch. The jail stays, with its files, when the payload has ended: a join with
// the same id brings another one into it, and send_close ends it.
Result<void> send_join(const Fd& socket, std::uint64_t id, std::uint32_t prototype, const Fd& plan,
                       const Fd& control, Stdio stdio, const Fd* command = nullptr);

// For a payload that joined: limits and usage count from here. `cpu_time` in ms, 0: no limit.
Result<void> send_arm(const Fd& socket, std::uint64_t id, Millis cpu_time);
// Answered by a DeniedList, if any call was refused since send_arm, and a Usage.
Result<void> send_usage(const Fd& socket, std::uint64_t id);
// Ends the jail, and its payload if one is in it.
Result<void> send_close(const Fd& socket, std::uint64_t id);

// Once, before the first join.
Result<void> send_meters(const Fd& socket, const MeterMemory& memory);

Result<void> send_pool(const Fd& socket, const Fd& plan, std::uint32_t target);  // 0 drops the pool
Result<void> send_interrupt(const Fd& socket, std::uint64_t id);  // SIGINT to the payload's group
Result<void> send_kill(const Fd& socket, std::uint64_t id);       // SIGKILL to all processes

// Next event, or nullopt when none is waiting (the socket is non-blocking). kProtocol/ECONNRESET
// when the spawner has gone.
Result<std::optional<Event>> receive(const Fd& socket);

// Removes what a spawner killed by SIGKILL could not: its empty cgroups. Call after it has died.
void sweep_after(const Hello& hello) noexcept;

inline constexpr std::size_t kMaxInputs = 200;  // SCM_RIGHTS carries 253 fds
// The fd number on which a spawner finds its caller.
inline constexpr int kSpawnerSocket = 3;

}  // namespace jail
