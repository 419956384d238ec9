// Builds the jail's tree in init's own mount namespace and makes it the root. After fork: no
// allocation. Order matters and is told in mounts.cc.
#pragma once

#include "jail/error.h"
#include "jail/fd.h"
#include "jail/plan.h"

namespace jail {

// What stays reachable for init after the tree has become read-only.
struct Tree {
  Fd workdir;  // O_PATH of the workdir
  Fd code;     // writable view of code_dir; invalid if the plan has none
};

Result<Tree> build_tree(const PlanView& plan);

}  // namespace jail
