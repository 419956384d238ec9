#include "jail/meter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "jail/client.h"
#include "jail/text_file.h"

namespace jail {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr std::size_t kBytes = kMeterSlots * sizeof(MeterSlot);

}  // namespace

MeterMemory::~MeterMemory() {
  if (slots_ != nullptr) ::munmap(slots_, kBytes);
}

MeterMemory::MeterMemory(MeterMemory&& other) noexcept
    : file_(std::move(other.file_)), slots_(std::exchange(other.slots_, nullptr)) {}

MeterMemory& MeterMemory::operator=(MeterMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(slots_, other.slots_);
  return *this;
}

Result<MeterMemory> MeterMemory::make() {
  Fd file(::memfd_create("meters", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid() || ::ftruncate(file.get(), kBytes) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0)
    return fail(Step::kProtocol, errno);
  return map(std::move(file));
}

Result<MeterMemory> MeterMemory::of(Fd file) {
  struct stat st {};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || ::fstat(file.get(), &st) != 0) return fail(Step::kProtocol, errno);
  if ((seals & kSeals) != kSeals || st.st_size != static_cast<off_t>(kBytes))
    return fail(Step::kProtocol, EINVAL);
  auto made = map(std::move(file));
  if (!made) return made;
  if (::madvise(made->slots_, kBytes, MADV_DONTFORK) != 0) return fail(Step::kProtocol, errno);
  made->file_.reset();
  return made;
}

Result<MeterMemory> MeterMemory::map(Fd file) {
  void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) return fail(Step::kProtocol, errno);
  MeterMemory made;
  made.file_ = std::move(file);
  // All zero is a valid slot, and what a new memfd holds.
  made.slots_ = static_cast<MeterSlot*>(at);
  return made;
}

Meter::Meter(MeterFiles files, const MeterMemory& memory) : files_(std::move(files)) {
  const bool all = std::all_of(files_.files.begin(), files_.files.end(),
                               [](const Fd& file) { return file.valid(); });
  if (all) slot_ = memory.slot(files_.slot);
}

std::optional<std::uint64_t> Meter::number(MeterFiles::File file, const char* key) const {
  std::array<char, 4096> text;
  const ssize_t n = ::pread(files_.files[file].get(), text.data(), text.size(), 0);
  if (n <= 0) return std::nullopt;
  const std::string_view whole(text.data(), static_cast<std::size_t>(n));
  return key == nullptr ? first_number(whole) : keyed_number(whole, key);
}

std::optional<Counted> Meter::counted() const {
  // cpu.stat (v2) has microseconds by name, cpuacct.usage (v1) nanoseconds.
  auto cpu = number(MeterFiles::kCpu, "usage_usec");
  if (!cpu) {
    cpu = number(MeterFiles::kCpu, nullptr);
    if (cpu) *cpu /= 1000;
  }
  const auto ooms = number(MeterFiles::kMemoryEvents, "oom_kill");
  const auto hits = number(MeterFiles::kProcessEvents, "max");
  if (!cpu || !ooms || !hits) return std::nullopt;
  return Counted{*cpu, *ooms, *hits};
}

bool Meter::arm(Millis cpu_limit) {
  const auto now = counted();
  if (!now) {
    slot_ = nullptr;  // for good: the worker counts from what it is told last
    return false;
  }
  armed_ = *now;
  // v1: lets the peak count from here. v2 since Linux 6.12: likewise, for this descriptor; before
  // that it can't be written, and is the peak of the jail's whole life.
  (void)!::pwrite(files_.files[MeterFiles::kPeakMemory].get(), "0", 1, 0);
  const std::uint64_t turn = slot_->turn.load(std::memory_order_relaxed);
  slot_->turn.store(turn + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  slot_->serial.store(files_.serial, std::memory_order_relaxed);
  slot_->cpu_limit_ms.store(static_cast<std::uint64_t>(cpu_limit.count()),
                            std::memory_order_relaxed);
  slot_->cpu_usec.store(armed_.cpu_usec, std::memory_order_relaxed);
  slot_->oom_kills.store(armed_.oom_kills, std::memory_order_relaxed);
  slot_->process_limit_hits.store(armed_.process_limit_hits, std::memory_order_relaxed);
  turn_ = turn + 2;
  slot_->turn.store(turn_, std::memory_order_release);
  return true;
}

std::optional<Ended> Meter::used() const {
  if (slot_ == nullptr || slot_->refused.load(std::memory_order_acquire) == turn_)
    return std::nullopt;
  const auto now = counted();
  const auto peak = number(MeterFiles::kPeakMemory, nullptr);
  if (!now || !peak) return std::nullopt;
  Ended used;
  used.oom_kills = now->oom_kills - armed_.oom_kills;
  used.process_limit_hits = now->process_limit_hits - armed_.process_limit_hits;
  used.process_limit_hits_known = true;
  used.peak_memory.value = *peak;
  used.peak_memory_from = files_.is_v2 ? Enforcer::kCgroupV2 : Enforcer::kCgroupV1;
  used.cpu_time = Millis((now->cpu_usec - armed_.cpu_usec) / 1000);
  return used;
}

std::optional<Armed> newly_armed(const MeterSlot& slot, std::uint64_t serial, std::uint64_t& seen) {
  for (;;) {
    const std::uint64_t turn = slot.turn.load(std::memory_order_acquire);
    if (turn == seen) return std::nullopt;
    if (turn % 2 != 0) return std::nullopt;  // the caller comes to its end, and we look again
    const std::uint64_t meant = slot.serial.load(std::memory_order_relaxed);
    Armed armed;
    armed.cpu_limit = Millis(slot.cpu_limit_ms.load(std::memory_order_relaxed));
    armed.from.cpu_usec = slot.cpu_usec.load(std::memory_order_relaxed);
    armed.from.oom_kills = slot.oom_kills.load(std::memory_order_relaxed);
    armed.from.process_limit_hits = slot.process_limit_hits.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (slot.turn.load(std::memory_order_relaxed) != turn) continue;
    seen = turn;
    if (meant != serial) return std::nullopt;
    return armed;
  }
}

}  // namespace jail
