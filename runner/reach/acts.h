// The arguments that matter: what a person would ask of a filter, call by call. Pure; any thread.
#pragma once

#include <linux/filter.h>

#include <span>
#include <vector>

#include "runner/reach/surface.h"

namespace runner::reach {

// Evaluated by `program`, as the kernel would.
std::vector<Act> acts_under(std::span<const sock_filter> program);
std::vector<SocketFamily> sockets_under(std::span<const sock_filter> program);

// The same lists with one opening for all.
std::vector<Act> all_acts(Opening opening);

}  // namespace runner::reach
