// Empty network namespaces, each for one jail after the other: to make and unmake one is the
// dearest part of a jail. They belong to the worker's user namespace, so nothing in a jail has a
// right in one, whatever it becomes in the jail's own: it can change no interface, address, filter
// or setting, and what it leaves are sockets. So one is used again only when its jail is dead and
// the kernel counts no socket in it, of any family, which includes those that are on the way in
// another (abstract names end with their sockets). The worker's, one thread.
#pragma once

#include <vector>

#include "jail/error.h"
#include "jail/fd.h"

namespace jail {

class Networks {
 public:
  // `proc`: a procfs, open as long as this lives.
  explicit Networks(int proc) : proc_(proc) {}

  // One that holds nothing and has no way out, loopback down. The caller is in it until leave().
  // Errors: Step::kClone, as for the namespaces that clone3 makes.
  Result<Fd> enter();
  // Back to a namespace of the worker's own, from the second jail on: who makes only one would pay
  // for two. What the worker opens, it opens there.
  Result<void> leave() const;
  // When all of the jail is dead.
  void give_back(Fd network);

 private:
  static constexpr std::size_t kMostIdle = 16;  // each takes the kernel some 100 KiB

  [[nodiscard]] Result<void> go_home();
  [[nodiscard]] Result<Fd> make() const;
  [[nodiscard]] bool holds_nothing() const;

  int proc_;
  bool is_first_ = true;
  Fd home_;
  std::vector<Fd> idle_;
};

}  // namespace jail
