// The bytes of a sealed plan or command, for tests that damage them. Header only.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "jail/fd.h"

namespace support {

inline std::vector<std::byte> bytes_of(const jail::Fd& file) {
  struct stat st {};
  if (::fstat(file.get(), &st) != 0) throw std::runtime_error("fstat");
  std::vector<std::byte> bytes(static_cast<std::size_t>(st.st_size));
  if (::pread(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("pread");
  return bytes;
}

// A file right before a page that may not be touched: reading one byte past its end is a crash,
// with or without a sanitizer. Its start is aligned to 16 as a mapping's would be, so up to 15
// bytes after the end are readable; `bytes` must be padded to a multiple of 16 to see all.
class Guarded {
 public:
  explicit Guarded(std::span<const std::byte> bytes) : size_(bytes.size()) {
    const std::size_t page = 4096;
    room_ = (size_ + page - 1) / page * page;
    all_ = static_cast<std::byte*>(
        ::mmap(nullptr, room_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (::mprotect(all_ + room_, page, PROT_NONE) != 0) throw std::runtime_error("mprotect");
    start_ = all_ + (room_ - size_) / 16 * 16;
    if (size_ > 0) std::memcpy(start_, bytes.data(), size_);
  }
  ~Guarded() { ::munmap(all_, room_ + 4096); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  Guarded(Guarded&&) = delete;
  Guarded& operator=(Guarded&&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {start_, size_}; }
  [[nodiscard]] std::span<std::byte> first(std::size_t n) const { return {start_, n}; }

 private:
  std::size_t size_;
  std::size_t room_ = 0;
  std::byte* all_ = nullptr;
  std::byte* start_ = nullptr;
};

}  // namespace support
