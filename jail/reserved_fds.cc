#include "jail/reserved_fds.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace jail {

ReservedFds::Place::Place(Place&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), number_(other.number_) {}

ReservedFds::Place& ReservedFds::Place::operator=(Place&& other) noexcept {
  if (this == &other) return *this;
  leave();
  owner_ = std::exchange(other.owner_, nullptr);
  number_ = other.number_;
  return *this;
}

ReservedFds::Place::~Place() { leave(); }

void ReservedFds::Place::leave() noexcept {
  if (owner_ != nullptr) owner_->leave(number_);
}

// /dev/null holds a number that has nothing else.
void ReservedFds::reserve() {
  null_.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int n = kFirst; n < kEnd && null_.valid(); ++n) {
    Fd held(::fcntl(null_.get(), F_DUPFD_CLOEXEC, n));
    if (held.get() != n) continue;
    (void)held.release();
    free_ |= 1U << static_cast<unsigned>(n - kFirst);
  }
}

std::optional<ReservedFds::Place> ReservedFds::put(const Fd& file) {
  for (int n = kFirst; n < kEnd; ++n) {
    const std::uint32_t bit = 1U << static_cast<unsigned>(n - kFirst);
    if ((free_ & bit) == 0) continue;
    if (::dup3(file.get(), n, O_CLOEXEC) != n) return std::nullopt;
    free_ &= ~bit;
    return Place(*this, n);
  }
  return std::nullopt;
}

void ReservedFds::leave(int number) noexcept {
  if (::dup3(null_.get(), number, O_CLOEXEC) == number)
    free_ |= 1U << static_cast<unsigned>(number - kFirst);
}

bool ReservedFds::leave_shared_table() {
  return ::syscall(SYS_close_range, static_cast<unsigned>(kEnd), ~0U, CLOSE_RANGE_UNSHARE) == 0;
}

}  // namespace jail
