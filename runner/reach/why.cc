// Layers are tried alone: what stops a probe that nothing else hinders stops it. Then all of them
// but these: if it gets through, nothing has been overlooked.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "runner/reach/interrupt.h"
#include "runner/reach/suite.h"

namespace runner::reach {
namespace {

// In the order in which a jail has them.
constexpr std::array kAlone = {Layer::kUser,     Layer::kPid,        Layer::kNet,
                               Layer::kOther,    Layer::kMount,      Layer::kRlimit,
                               Layer::kLandlock, Layer::kCapability, Layer::kSeccomp};

bool has(const std::vector<Layer>& list, Layer wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

void add(std::vector<Layer>& list, Layer layer) {
  if (!has(list, layer)) list.push_back(layer);
}

// What an unprivileged process needs to have the layer at all.
std::vector<Layer> with_companions(Layer layer) {
  if (::geteuid() == 0) return {layer};
  switch (layer) {
    case Layer::kMount:  // its /proc is one of a pid namespace of ours
      return {Layer::kUser, Layer::kPid, Layer::kMount};
    case Layer::kPid:
    case Layer::kNet:
    case Layer::kOther:
      return {Layer::kUser, layer};
    default:
      return {layer};
  }
}

// A filter is put on by the helper; an interpreter has nobody to do it. What is planted in a tree
// of mounts is gone with it, before anybody could fetch it.
bool can_try(const Probe& probe, Layer layer) {
  if (probe.by == By::kPython) return layer != Layer::kSeccomp;
  return probe.by != By::kHost || layer != Layer::kMount;
}

std::vector<Layer> all_but(const Probe& probe, const std::vector<Layer>& without) {
  std::vector<Layer> layers;
  for (const Layer layer : kAlone)
    if (!has(without, layer) && can_try(probe, layer)) layers.push_back(layer);
  return layers;
}

}  // namespace

Why find_why(const Probe& probe, const std::vector<Layer>& seen, const Behind& run) {
  Why why;
  for (const Layer layer : kAlone) {
    if (!can_try(probe, layer)) {
      add(why.untried, layer);
      continue;
    }
    const std::vector<Layer> layers = with_companions(layer);
    // Nothing to be learnt of a layer whose companion stops it already.
    const bool hidden = std::any_of(layers.begin(), layers.end() - 1, [&](Layer companion) {
      return has(why.stopped_by, companion) || has(why.untried, companion);
    });
    const bool skipped = hidden || is_interrupted();
    const Observation got = skipped ? Observation{} : run(layers);
    if (got.verdict == Verdict::kBlocked) add(why.stopped_by, layer);
    if (got.verdict == Verdict::kInconclusive) add(why.untried, layer);
  }
  // These cannot be had without a spawner: its own word counts.
  for (const Layer layer : seen)
    if (layer == Layer::kCgroup || layer == Layer::kSupervisor) add(why.stopped_by, layer);
  std::vector<Layer> rest = all_but(probe, why.stopped_by);
  Observation without = run(rest);
  // A /proc of one's own needs a pid namespace of one's own: the tree cannot be had without.
  if (without.verdict == Verdict::kInconclusive && !has(rest, Layer::kPid)) {
    std::erase(rest, Layer::kMount);
    without = run(rest);
  }
  why.confirmed = without.verdict == Verdict::kReached;
  why.together = without.verdict == Verdict::kBlocked;
  // All layers of the kernel do not stop it: what a jail has beside them does.
  if (why.confirmed && why.stopped_by.empty()) add(why.stopped_by, Layer::kSupervisor);
  return why;
}

}  // namespace runner::reach
