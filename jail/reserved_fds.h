// A few low numbers of descriptors, for what a new init is to find. It is cloned with the worker's
// table of files shared instead of copied (a thousand jails are fifteen thousand files), and then
// takes a table of its own that ends with these numbers. The worker's, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "jail/fd.h"

namespace jail {

class ReservedFds {
 public:
  static constexpr int kFirst = 32;
  static constexpr int kEnd = 40;  // one behind the last

  // A number with a file of ours, until it is let go of: not before the init that shares our table
  // has one of its own.
  class Place {
   public:
    Place(Place&& other) noexcept;
    Place& operator=(Place&& other) noexcept;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();
    [[nodiscard]] int get() const { return number_; }

   private:
    friend class ReservedFds;
    Place(ReservedFds& owner, int number) : owner_(&owner), number_(number) {}
    void leave() noexcept;
    ReservedFds* owner_;
    int number_;
  };

  // Where a number is taken already, or may not be used, there will be no places.
  void reserve();
  // A copy of `file`; nullopt when all places are in use.
  std::optional<Place> put(const Fd& file);

  // In the child: true when its table is its own, and holds nothing from kEnd on.
  static bool leave_shared_table();

 private:
  void leave(int number) noexcept;
  Fd null_;
  std::uint32_t free_ = 0;  // a bit each
};

}  // namespace jail
