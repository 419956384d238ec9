#include "jail/networks.h"

#include <fcntl.h>
#include <sched.h>

#include <cerrno>
#include <utility>

#include "jail/text_file.h"

namespace jail {

// network_namespaces(7). setns(2) asks for rights over the namespace, and the worker has none over
// the one it was started in: it leaves that one for good.
Result<void> Networks::go_home() {
  if (home_.valid()) return {};
  auto made = make();
  if (!made) return tl::unexpected(made.error());
  home_ = std::move(*made);
  return {};
}

Result<Fd> Networks::make() const {
  if (::unshare(CLONE_NEWNET) != 0) return fail(Step::kClone, errno);
  Fd network(::openat(proc_, "self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!network.valid()) return fail(Step::kClone, errno, 2);
  return network;
}

Result<Fd> Networks::enter() {
  if (std::exchange(is_first_, false)) return make();
  if (auto r = go_home(); !r) return tl::unexpected(r.error());
  while (!idle_.empty()) {
    Fd network = std::move(idle_.back());
    idle_.pop_back();
    if (::setns(network.get(), CLONE_NEWNET) != 0) return fail(Step::kClone, errno, 3);
    if (holds_nothing()) return network;
  }
  return make();
}

Result<void> Networks::leave() const {
  if (!home_.valid()) return {};
  if (::setns(home_.get(), CLONE_NEWNET) != 0) return fail(Step::kClone, errno, 4);
  return {};
}

void Networks::give_back(Fd network) {
  if (network.valid() && idle_.size() < kMostIdle) idle_.push_back(std::move(network));
}

// proc(5), /proc/net/sockstat: "sockets: used N" counts this namespace's alone.
bool Networks::holds_nothing() const {
  const auto counted = read_file(proc_, "self/net/sockstat");
  return counted && keyed_number(*counted, "sockets: used") == 0U;
}

}  // namespace jail
