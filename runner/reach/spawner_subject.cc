#include "runner/reach/spawner_subject.h"

#include <csignal>

namespace runner::reach {

SpawnerSubject::~SpawnerSubject() {
  end_loop();
  launcher_.close();
  launcher_.shutdown();
}

bool SpawnerSubject::can_run(const Probe& probe) const {
  if (probe.by == By::kDoor) return false;
  return probe.by != By::kPython || plans_.full.policy.interpreters.contains("python");
}

std::optional<Verdict> SpawnerSubject::expected(const Probe& probe) const {
  return plans_.expected(probe, mode_, hello().memory);
}

Result<void> SpawnerSubject::start_spawner() { return launcher_.start(home_.spawner); }

void SpawnerSubject::start_loop() {
  (void)std::signal(SIGPIPE, SIG_IGN);  // after the spawner's start, as in OneShot
  thread_ = std::thread([this] { io_.run(); });
}

void SpawnerSubject::end_loop() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace runner::reach
