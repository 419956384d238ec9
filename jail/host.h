// What this host can give: each kernel feature a layer needs, found by trying it harmlessly.
// Forks short-lived children; leaves nothing behind. For `doctor` and for messages; one thread.
#pragma once

#include <string>
#include <vector>

namespace jail {

enum class Verdict { kPresent, kAbsent, kUnknown };
enum class Need { kRequired, kOptional };

struct Feature {
  std::string name;  // "user namespaces"
  Verdict verdict = Verdict::kUnknown;
  Need need = Need::kRequired;  // for `standard` to run fully
  std::string found;            // "ABI 7", "v1: memory, pids, cpuacct", "EPERM from unshare(2)"
  std::string layer;            // which layer needs it
  std::string lost;             // what is lost without it
  std::string mend;  // how to get it: sysctl, package, container flag; empty if nothing helps
};

std::vector<Feature> inspect_host();

}  // namespace jail
