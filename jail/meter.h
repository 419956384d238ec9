// What a payload that joined has used, read by the caller itself. A caller that shares its memory
// with the spawner (send_meters) gets the files of each jail's cgroups with Launched; then neither
// the start nor the end of an execution waits for the spawner: start writes one slot of that
// memory, where the worker looks before it counts or records anything of the jail, and the end is
// read from the kernel's files. The worker marks the slot before it answers a call that is refused.
// Nothing of this is ever seen by a payload. A Meter belongs to one thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "jail/error.h"
#include "jail/fd.h"
#include "jail/units.h"

namespace jail {

struct Ended;

// As many as there are jails at once.
inline constexpr std::uint32_t kMeterSlots = 1023;

// Where a jail is counted. All four files, or none.
struct MeterFiles {
  enum File : std::uint8_t { kPeakMemory, kMemoryEvents, kProcessEvents, kCpu, kCount };
  std::array<Fd, kCount> files;
  bool is_v2 = false;  // of kPeakMemory, kMemoryEvents; the other two are told apart by their text
  std::uint32_t slot = 0;
  std::uint64_t serial = 0;  // of the jail
};

// Since the jail was made.
struct Counted {
  std::uint64_t cpu_usec = 0;
  std::uint64_t oom_kills = 0;
  std::uint64_t process_limit_hits = 0;
};

// One slot a jail. Written by the caller, but for `refused`.
struct alignas(64) MeterSlot {
  std::atomic<std::uint64_t> turn;    // odd while the rest is being written; 0: never
  std::atomic<std::uint64_t> serial;  // of the jail that is meant
  std::atomic<std::uint64_t> cpu_limit_ms;
  std::atomic<std::uint64_t> cpu_usec;
  std::atomic<std::uint64_t> oom_kills;
  std::atomic<std::uint64_t> process_limit_hits;
  std::atomic<std::uint64_t> refused;  // the turn in which a call of the payload came to the worker
};
static_assert(sizeof(MeterSlot) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);

// The memory, mapped.
class MeterMemory {
 public:
  MeterMemory() = default;
  ~MeterMemory();
  MeterMemory(MeterMemory&& other) noexcept;
  MeterMemory& operator=(MeterMemory&& other) noexcept;
  MeterMemory(const MeterMemory&) = delete;
  MeterMemory& operator=(const MeterMemory&) = delete;

  // kProtocol and errno when it can't be made, or is no memory of ours: sealed, and of our size.
  static Result<MeterMemory> make();
  // The worker's: no child of it gets the mapping, and the descriptor is closed.
  static Result<MeterMemory> of(Fd file);

  [[nodiscard]] const Fd& file() const { return file_; }
  [[nodiscard]] MeterSlot* slot(std::uint32_t number) const {
    return slots_ != nullptr && number < kMeterSlots ? slots_ + number : nullptr;
  }

 private:
  static Result<MeterMemory> map(Fd file);
  Fd file_;
  MeterSlot* slots_ = nullptr;
};

// The caller's. `memory` must outlive it.
class Meter {
 public:
  Meter() = default;
  Meter(MeterFiles files, const MeterMemory& memory);

  [[nodiscard]] bool is_valid() const { return slot_ != nullptr; }
  // Limits and usage count from here. False: they do not, and the spawner has to be asked.
  [[nodiscard]] bool arm(Millis cpu_limit);
  // Since arm(). nullopt: the spawner knows more (a call was refused), or a file can't be read.
  [[nodiscard]] std::optional<Ended> used() const;

 private:
  [[nodiscard]] std::optional<std::uint64_t> number(MeterFiles::File file, const char* key) const;
  [[nodiscard]] std::optional<Counted> counted() const;

  MeterFiles files_;
  MeterSlot* slot_ = nullptr;
  Counted armed_;
  std::uint64_t turn_ = 0;
};

// The worker's: what was armed for the jail since turn `seen`, which moves on.
struct Armed {
  Counted from;
  Millis cpu_limit{0};
};
std::optional<Armed> newly_armed(const MeterSlot& slot, std::uint64_t serial, std::uint64_t& seen);

}  // namespace jail
