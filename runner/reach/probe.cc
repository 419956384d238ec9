#include "runner/reach/probe.h"

#include <algorithm>
#include <vector>

#include "runner/reach/catalogue_parts.h"

namespace runner::reach {
namespace {

std::vector<Probe> all() {
  std::vector<Probe> probes;
  for (const auto part :
       {file_catalogue, execution_catalogue, process_catalogue, kernel_catalogue,
        kernel_more_catalogue, network_catalogue, resource_catalogue, information_catalogue,
        protocol_catalogue, python_catalogue, door_catalogue}) {
    const auto some = part();
    probes.insert(probes.end(), some.begin(), some.end());
  }
  return probes;
}

}  // namespace

std::string_view category_text(Category category) noexcept {
  switch (category) {
    case Category::kFiles:
      return "files";
    case Category::kProcesses:
      return "processes";
    case Category::kKernel:
      return "kernel";
    case Category::kNetwork:
      return "network";
    case Category::kResources:
      return "resources";
    case Category::kInformation:
      return "information";
    case Category::kProtocol:
      return "protocol";
    case Category::kDoor:
      return "door";
  }
  return "?";
}

std::string_view layer_text(Layer layer) noexcept {
  switch (layer) {
    case Layer::kNone:
      return "nothing";
    case Layer::kSeccomp:
      return "seccomp";
    case Layer::kMount:
      return "mounts";
    case Layer::kPid:
      return "pid namespace";
    case Layer::kNet:
      return "net namespace";
    case Layer::kUser:
      return "user namespace";
    case Layer::kCapability:
      return "capabilities";
    case Layer::kLandlock:
      return "Landlock";
    case Layer::kRlimit:
      return "rlimit";
    case Layer::kCgroup:
      return "cgroup";
    case Layer::kSupervisor:
      return "supervisor";
    case Layer::kOther:
      return "other namespaces";
  }
  return "?";
}

std::string_view verdict_text(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kReached:
      return "reached";
    case Verdict::kBlocked:
      return "blocked";
    case Verdict::kInconclusive:
      return "inconclusive";
  }
  return "?";
}

std::optional<Category> category_of(std::string_view word) noexcept {
  for (const Category category : kCategories)
    if (category_text(category) == word) return category;
  return std::nullopt;
}

std::span<const Probe> catalogue() {
  static const std::vector<Probe> probes = all();
  return probes;
}

const Probe* find_probe(std::string_view id_or_name) {
  const auto probes = catalogue();
  const auto found = std::find_if(probes.begin(), probes.end(), [&](const Probe& probe) {
    return probe.id == id_or_name || probe.name == id_or_name;
  });
  return found == probes.end() ? nullptr : &*found;
}

std::optional<Verdict> expected_under(const Probe& probe, std::string_view policy,
                                      std::string_view mode, Memory memory) {
  Expected expected = probe.expected;
  if (mode == "join" && probe.joined) expected = *probe.joined;
  if (memory == Memory::kSampled && probe.sampled) expected = *probe.sampled;
  if (policy == "tight") return expected.tight;
  if (policy == "standard") return expected.standard;
  if (policy == "loose") return expected.loose;
  return std::nullopt;
}

}  // namespace runner::reach
