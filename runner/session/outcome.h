// How user code ended: one word, decided from what the kernel and our own clocks said, never from
// what the payload said of itself. The first cause wins: what we did (deadline, interrupt) > why
// the spawner killed the jail > the kernel's signal or OOM kill > the exit code.
//
// `raised`, `expired`, `refused` and `declined` belong to sessions and the restricted mode: in a
// one-shot execution an uncaught exception cannot be told from exit(1) by evidence, so it is
// `exited`. A full output cap cuts and says so (`truncated`); it does not change the word.
// Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jail/client.h"
#include "jail/units.h"
#include "policies/policy.h"

namespace runner {

enum class Word : std::uint8_t {
  kOk,
  kRaised,
  kExited,
  kSignalled,
  kTimedOut,
  kCpuExceeded,
  kOutOfMemory,
  kOutputLimit,  // SIGXFSZ: a file grew beyond limits.file_size
  kProcessLimit,
  kDiskFull,
  kInterrupted,
  kKilled,
  kExpired,
  kRefused,
  kDeclined,
};

const char* word_text(Word word) noexcept;  // "timed_out"

// What the word comes to, for whoever counts: the same few words in the API, the trace, the metrics
// and the command line.
enum class Ending : std::uint8_t {
  kOk,
  kFailure,  // the code's own: it raised, exited with a status, or crashed
  kRefusal,  // the sandbox said no: to the code, to a call that ends it, or to more of a resource
  kDecline,  // the model said NONE, or nothing
  kTimeout,  // the time limit: wall-clock or CPU
  kError,    // Sandglass or its host failed
  kStopped,  // somebody ended it: an interrupt, a deletion, expiry, a shutdown
};

const char* ending_text(Ending ending) noexcept;  // "refusal"
inline constexpr std::size_t kEndings = 7;

// What we ourselves did to the execution, first act only.
enum class Act : std::uint8_t {
  kNone,
  kDeadline,    // the wall-clock limit passed
  kInterrupt,   // somebody asked: Ctrl-C, SIGTERM, an API call
  kReaderGone,  // nobody reads our stdout any more
};

enum class DiskState : std::uint8_t { kRoom, kNoBlocks, kNoInodes, kUnknown };

// Where the last byte that was passed on stood.
struct Stream {
  std::uint64_t produced = 0;  // bytes the payload wrote, as far as they were read
  bool truncated = false;
};

// Everything an outcome is decided from.
struct Facts {
  jail::Ended ended;
  Act act = Act::kNone;
  int signal = 0;  // with kInterrupt: the signal that was asked for
  DiskState disk = DiskState::kUnknown;
  Stream out;
  Stream err;
  jail::Millis wall{0};
};

// The limit that was met. `value` and `peak` are in `unit`.
struct LimitHit {
  std::string name;   // "wall_time": the policy's key under [limits], or "workdir.size"
  std::string limit;  // "10s"
  std::uint64_t value = 0;
  std::optional<std::uint64_t> peak;
  const char* unit = "bytes";  // "bytes", "ms", "count"
};

struct Usage {
  jail::Millis wall{0};
  jail::Millis cpu{0};
  jail::Bytes peak_memory{};
  jail::Enforcer peak_memory_from = jail::Enforcer::kNone;
};

struct Outcome {
  Word word = Word::kOk;
  int exit_code = 0;          // what `sandglass run` exits with
  std::optional<int> status;  // the payload's own exit code
  std::optional<int> signal;  // the signal that ended the payload
  std::string text;           // one sentence; empty for ok and exited
  bool state_preserved = false;
  bool is_our_error = false;  // kKilled, and nobody asked for it
  std::optional<LimitHit> limit;
  Stream out;
  Stream err;
  Usage usage;
};

// The limits that an outcome may name.
struct LimitsInForce {
  policies::Limits limits;
  policies::Tmpfs workdir;
};

Outcome decide(const Facts& facts, const LimitsInForce& limits);

Ending ending_of(const Outcome& outcome) noexcept;

// "SIGSEGV"; "signal 77" for one without a name.
std::string signal_text(int signal);

// "cgroup v2", "cgroup v1", "rlimit and sampling", "nobody".
const char* enforcer_text(jail::Enforcer enforcer) noexcept;

}  // namespace runner
