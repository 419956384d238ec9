#include "runner/reach/interrupt.h"

#include <atomic>

namespace runner::reach {
namespace {

// signal-safety(7): lock-free atomics may be written in a handler.
std::atomic<bool> noted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

constexpr std::array kNoted{SIGINT, SIGTERM, SIGHUP, SIGXFSZ};

void note(int /*signal*/) { noted = true; }

}  // namespace

Interrupt::Interrupt() {
  for (std::size_t i = 0; i < kNoted.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = kNoted.at(i) == SIGXFSZ ? SIG_IGN : note;
    action.sa_flags = SA_RESTART;
    (void)::sigaction(kNoted.at(i), nullptr, &before_.at(i));
    if (before_.at(i).sa_handler != SIG_IGN) (void)::sigaction(kNoted.at(i), &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kNoted.size(); ++i)
    (void)::sigaction(kNoted.at(i), &before_.at(i), nullptr);
}

bool is_interrupted() noexcept { return noted; }

void forget_interrupt() noexcept { noted = false; }

tl::unexpected<Error> interrupted() {
  return fail(ErrorKind::kUsage, "interrupted; nothing is left behind");
}

}  // namespace runner::reach
