// Probes without a jail: in a throw-away unprivileged process that ends within seconds, with
// nothing between it and the host, or with some of a jail's layers and no others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jail/fd.h"
#include "runner/reach/jail_subject.h"
#include "runner/reach/outside.h"
#include "runner/reach/subject.h"

namespace runner::reach {

class Control final : public Subject {
 public:
  // Both outlive it. `plans` may be null where no layers are asked for. kFiles: the installation
  // lacks a program.
  static Result<std::unique_ptr<Control>> make(const Outside& outside,
                                               const JailPlans* plans = nullptr);
  // By make() only.
  Control(const Outside& outside, const JailPlans* plans, std::string program, jail::Fd helper);

  std::string name() const override { return "no sandbox"; }
  std::string mode() const override { return "exec"; }
  bool can_run(const Probe& probe) const override { return probe.by != By::kDoor; }
  std::optional<Verdict> expected(const Probe& /*probe*/) const override { return std::nullopt; }
  Answer run(const Attempt& attempt) override { return run_behind(attempt, {}); }

  // Behind these layers of the policy's jail and no others; at most those that layers/main.cc
  // knows. An answer with an exit status of 125 and no verdict: a layer could not be set up here.
  Answer run_behind(const Attempt& attempt, const std::vector<Layer>& layers);

 private:
  const Outside& outside_;
  const JailPlans* plans_;
  std::string program_;
  jail::Fd helper_;
};

}  // namespace runner::reach
