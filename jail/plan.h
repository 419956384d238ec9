// A Spec or a Command laid out flat in one sealed memfd, so that the spawner and everything that
// runs after fork reads it in place and allocates nothing. The writer trusts its Spec; the reader
// trusts nothing: a plan comes over a socket, so every offset, count, enum and string is checked
// before a pointer is formed. Reading is async-signal-safe once validated.
#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "jail/error.h"
#include "jail/fd.h"
#include "jail/spec.h"

namespace jail {

inline constexpr std::uint32_t kPlanMagic = 0x31474e53;     // "SNG1"
inline constexpr std::uint32_t kCommandMagic = 0x31434e53;  // "SNC1"
inline constexpr std::size_t kMaxPlanBytes = std::size_t{1} << 20U;
inline constexpr std::size_t kMaxCommandBytes = std::size_t{4} << 20U;
inline constexpr std::size_t kMaxMounts = 128;
inline constexpr std::size_t kMaxRlimits = 16;

// A NUL-terminated string in the file: `length` bytes at `offset`, then NUL.
struct Text {
  std::uint32_t offset;
  std::uint32_t length;
};

struct Array {
  std::uint32_t offset;
  std::uint32_t count;
};

struct PlanMount {
  MountKind kind;
  Access access;
  Exec exec;
  Presence presence;
  std::uint32_t mode;
  std::uint64_t size;
  std::uint64_t inodes;
  Text source;
  Text target;
  Text contents;
};

// Rlimit without padding: what a Spec's copy has there would travel along.
struct PlanRlimit {
  std::int32_t resource;
  std::uint32_t unused;
  std::uint64_t soft;
  std::uint64_t hard;
};

struct PlanHeader {
  std::uint32_t magic;
  std::uint32_t total;  // bytes, this header included
  std::uint32_t uid;
  std::uint32_t gid;
  ProcView proc;
  Loopback loopback;
  LandlockNet landlock_net;
  std::uint8_t exec_once;  // 1: the filter forbids execve, the spawner lets the first one through
  std::uint8_t listens;    // 1: the filter has USER_NOTIF, so a listener is made
  Start start;
  std::uint8_t unused[6];
  std::uint64_t code_size;
  std::uint64_t memory;
  std::uint64_t processes;
  std::uint64_t cpu_time_ms;
  Text hostname;
  Text workdir;
  Text code_dir;
  Array mounts;       // PlanMount
  Array rlimits;      // PlanRlimit
  Array filter;       // sock_filter: the payload's
  Array init_filter;  // sock_filter: PID 1's own, after the payload has started
};

struct CommandInput {
  Text path;
  std::uint32_t mode;
  std::uint32_t unused;
};

struct CommandHeader {
  std::uint32_t magic;
  std::uint32_t total;
  Text cwd;
  Array argv;    // uint64: offsets of strings, made pointers in place by the reader; then 0. It and
  Array env;     // this one likewise lie behind everything else, in this order
  Array inputs;  // CommandInput
};

// Views into a mapping that must outlive them.
class PlanView {
 public:
  PlanView() = default;
  // kPlan/EINVAL when anything does not hold.
  static Result<PlanView> read(std::span<const std::byte> file);

  [[nodiscard]] const PlanHeader& header() const;
  [[nodiscard]] const char* text(Text t) const;
  [[nodiscard]] std::span<const PlanMount> mounts() const;
  [[nodiscard]] std::span<const PlanRlimit> rlimits() const;
  [[nodiscard]] std::span<const sock_filter> filter() const;
  [[nodiscard]] std::span<const sock_filter> init_filter() const;

 private:
  explicit PlanView(std::span<const std::byte> file) : file_(file) {}
  std::span<const std::byte> file_;
};

class CommandView {
 public:
  // `file` must be a private writable mapping: argv and env become pointers in place.
  static Result<CommandView> read(std::span<std::byte> file);

  [[nodiscard]] const char* cwd() const;
  [[nodiscard]] char* const* argv() const;
  [[nodiscard]] char* const* env() const;
  [[nodiscard]] std::span<const CommandInput> inputs() const;
  [[nodiscard]] const char* text(Text t) const;

 private:
  explicit CommandView(std::span<std::byte> file) : file_(file) {}
  std::span<std::byte> file_;
};

// A mapping of a whole sealed memfd; unmapped on destruction. kPlan/EPERM when it is not sealed
// against writing and shrinking, kPlan/E2BIG when over `limit`.
class Mapping {
 public:
  enum class Mode { kShared, kPrivate };  // read-only shared, or private and writable
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();
  static Result<Mapping> of(const Fd& file, Mode mode, std::size_t limit);
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace jail
