// Files out of a workdir whose jail is dead. What lies there was arranged by code nobody has read:
// every name is opened beneath the workdir's own fd, without following a link of any kind, without
// blocking, and only regular files of a bounded size are touched. The walk is breadth-first and
// bounded in depth and entries, so that folders nested 10,000 deep or a million files cost little.
// Blocking file I/O; one thread a call.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "jail/fd.h"
#include "jail/units.h"
#include "runner/error.h"
#include "runner/session/outcome.h"

namespace runner {

struct CollectLimits {
  jail::Bytes max_file{};          // a larger file is skipped, sparse or not
  std::uint64_t files = 0;         // at most so many are brought out
  std::uint32_t depth = 32;        // folders below the workdir
  std::uint64_t entries = 20'000;  // looked at in all
};

// A file that was put in before the start. `content` is read at any offset, by pread(2).
struct KnownInput {
  std::string path;  // relative to the workdir
  const jail::Fd* content = nullptr;
};

struct Skipped {
  std::string path;  // relative to the workdir, byte for byte as the payload named it
  std::string reason;
};

// What became of the workdir's entries.
struct Harvest {
  struct Written {
    std::string path;
    jail::Bytes size{};
  };
  std::vector<Written> written;
  std::vector<Skipped> skipped;  // the first kMaxSkipped
  std::uint64_t skipped_total = 0;
  std::uint64_t unchanged = 0;  // inputs that the payload left as they were
};

inline constexpr std::size_t kMaxSkipped = 100;

// Why one file could not be delivered. kSkip: this file only; kStop: the rest cannot go either.
struct Undelivered {
  enum class Then { kSkip, kStop } then = Then::kSkip;
  std::string reason;
};

// Takes one file: its path, the open file at offset 0, its size.
using Deliver = std::function<tl::expected<void, Undelivered>(
    const std::string& path, const jail::Fd& file, jail::Bytes size)>;

struct Collected {
  Harvest harvest;
  std::optional<Error> error;  // the walk or a delivery had to stop; the harvest is up to there
};

// Whether anything more fits into the workdir's file system.
DiskState disk_state(const jail::Fd& workdir);

// True if its file system has no file but the workdir itself: then there is nothing to look for.
bool holds_nothing(const jail::Fd& workdir);

// `workdir` is a directory fd (O_PATH is enough). Names within a folder go in byte order.
Collected collect(const jail::Fd& workdir, const CollectLimits& limits,
                  std::span<const KnownInput> inputs, const Deliver& deliver);

}  // namespace runner
