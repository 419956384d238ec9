// What the helper finds out about its own confinement, for sandboxes that are not ours.
#pragma once

namespace reach {

// Whether each system call is tried: where there is no filter, all go through.
enum class Calls { kIfFiltered, kTried };

// Prints lines "KEY VALUE..." and at last "end facts"; changes nothing. Returns the exit code.
int print_facts(Calls calls);

}  // namespace reach
