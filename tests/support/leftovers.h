// What a run of Sandglass left behind. Take a snapshot before it, ask after it:
//
//   const support::Leftovers leftovers;
//   ... start a spawner, run jails, kill everything ...
//   CHECK(leftovers.found() == "");
//
// The constructor makes this process a child subreaper, so whatever escapes its parents becomes our
// child and is seen. Other tests may run on the same machine at the same time: only descendants of
// this process, and cgroups and files whose name bears no living stranger's pid, count. One thread.
#pragma once

#include <chrono>
#include <set>
#include <string>

namespace support {

class Leftovers {
 public:
  Leftovers();

  // Empty when nothing is left; else one line a thing. Things that are on their way out get
  // `patience` to go.
  [[nodiscard]] std::string found(
      std::chrono::milliseconds patience = std::chrono::milliseconds(3000)) const;

 private:
  struct Snapshot {
    std::set<std::string> processes;  // "4711 python3", descendants of ours, zombies left out
    std::set<std::string> mounts;     // lines of /proc/self/mountinfo
    std::set<std::string> cgroups;    // folders named sandglass*
    std::set<std::string> files;      // entries of TMPDIR, /dev/shm and /run named *sandglass*
  };
  static Snapshot take();

  Snapshot before_;
};

}  // namespace support
