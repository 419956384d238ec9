// What is left in the working folder for whoever fetches files from there. Blocked: fetching
// brought nothing that it should not.
#include "runner/reach/catalogue_parts.h"

namespace runner::reach {
namespace {

using enum Layer;

constexpr Probe kProbes[] = {
    {"h01", "fetch-link", "leaves a link to a file outside to be fetched",
     "go-judge 176; Judge0 CVE-2024-28185", Category::kDoor, kSupervisor, kNever, By::kHost},
    {"h02", "fetch-folder-link", "leaves a link to a folder outside to be fetched",
     "Judge0 CVE-2024-28189", Category::kDoor, kSupervisor, kNever, By::kHost},
    {"h03", "fetch-climbing-link", "leaves a link that climbs out to be fetched",
     "CVE-2007-4559; kubectl cp CVE-2019-1002101", Category::kDoor, kSupervisor, kNever, By::kHost},
    {"h04", "fetch-magic-link", "leaves a link by way of /proc/self/root to be fetched",
     "runc CVE-2024-21626 family", Category::kDoor, kSupervisor, kNever, By::kHost},
    {"h05", "fetch-fifo", "leaves a FIFO, on which a reader waits for ever", "FIFO hang class",
     Category::kDoor, kSupervisor, kNever, By::kHost},
    {"h06", "fetch-device", "leaves a link to /dev/zero, which never ends", "endless read class",
     Category::kDoor, kSupervisor, kNever, By::kHost},
    {"h07", "fetch-socket", "leaves a socket to be fetched", "sandbox-runtime (special files)",
     Category::kDoor, kSupervisor, kNever, By::kHost},
    {"h08", "fetch-sparse", "leaves a file of 100 MiB that takes no space", "snekbox 16b1a13",
     Category::kDoor, kSupervisor, kNever, By::kHost},
    {"h09", "fetch-deep", "leaves 400 nested folders", "snekbox depth test", Category::kDoor,
     kSupervisor, kNever, By::kHost},
    {"h10", "fetch-many", "leaves 300 files", "snekbox files_limit", Category::kDoor, kSupervisor,
     kNever, By::kHost},
    {"h11", "fetch-odd-names",
     "leaves files whose names hold escapes, line breaks and broken UTF-8", "snekbox 5b606b1, 205",
     Category::kDoor, kSupervisor, kNever, By::kHost},
    {"h12", "fetch-hard-link", "leaves a hard link to a file outside",
     "Judge0; Firecracker jailer tests", Category::kDoor, kMount, kNever, By::kHost},
};

}  // namespace

std::span<const Probe> door_catalogue() { return kProbes; }

}  // namespace runner::reach
