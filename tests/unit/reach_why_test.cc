// Finding out which layers stop a probe, against sandboxes that are made of words.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "runner/reach/suite.h"

using namespace runner::reach;

namespace {

using Layers = std::vector<Layer>;

bool has(const Layers& list, Layer wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

Observation verdict(Verdict verdict) { return {verdict, "", 0}; }

// Blocks as soon as one of `walls` is there.
Behind walls(const Layers& walls) {
  return [walls](const Layers& layers) {
    const bool stopped =
        std::any_of(walls.begin(), walls.end(), [&](Layer wall) { return has(layers, wall); });
    return verdict(stopped ? Verdict::kBlocked : Verdict::kReached);
  };
}

}  // namespace

TEST_CASE("each layer that alone stops it is found, and no other") {
  const Why one = find_why(*find_probe("k05"), {}, walls({Layer::kSeccomp}));
  CHECK(one.stopped_by == Layers{Layer::kSeccomp});
  CHECK(one.confirmed);
  const Why two = find_why(*find_probe("k05"), {}, walls({Layer::kSeccomp, Layer::kLandlock}));
  CHECK(two.stopped_by == Layers{Layer::kLandlock, Layer::kSeccomp});
  CHECK(two.confirmed);
}

TEST_CASE("what only several stop together is said to be so") {
  const Why why = find_why(*find_probe("p33"), {}, [](const Layers& layers) {
    return verdict(has(layers, Layer::kLandlock) && has(layers, Layer::kSeccomp)
                       ? Verdict::kBlocked
                       : Verdict::kReached);
  });
  CHECK(why.stopped_by.empty());
  CHECK_FALSE(why.confirmed);
  CHECK(why.together);
}

TEST_CASE("what passes all layers is stopped by what a jail has beside them") {
  const Why why = find_why(*find_probe("i16"), {}, walls({}));
  CHECK(why.stopped_by == Layers{Layer::kSupervisor});
  CHECK(why.confirmed);
}

TEST_CASE("a cgroup cannot be had alone: the spawner's word counts") {
  const Why why = find_why(*find_probe("r03"), {Layer::kSeccomp, Layer::kCgroup}, walls({}));
  CHECK(why.stopped_by == Layers{Layer::kCgroup});
}

TEST_CASE("a layer that cannot be set up is not counted, and named") {
  const Why why = find_why(*find_probe("k05"), {}, [](const Layers& layers) {
    if (layers == Layers{Layer::kLandlock}) return verdict(Verdict::kInconclusive);
    return verdict(has(layers, Layer::kSeccomp) ? Verdict::kBlocked : Verdict::kReached);
  });
  CHECK(why.untried == Layers{Layer::kLandlock});
  CHECK(why.stopped_by == Layers{Layer::kSeccomp});
}

TEST_CASE("nobody puts a filter on an interpreter, nobody fetches from a tree that is gone") {
  CHECK(find_why(*find_probe("c20"), {}, walls({})).untried == Layers{Layer::kSeccomp});
  CHECK(find_why(*find_probe("h01"), {}, walls({})).untried == Layers{Layer::kMount});
}
