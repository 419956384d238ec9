// Descriptors and streams, and words that want to be mistaken for ours.
#include "runner/reach/catalogue_parts.h"

namespace runner::reach {
namespace {

using enum Layer;

// A session's program has the channel of its own session: what it writes there is taken for its
// output (interpreters/README.md). Hence the last member of c01 and c03.
constexpr Probe kProbes[] = {
    {"c01",
     "inherited-descriptors",
     "finds descriptors beside the standard streams",
     "CVE-2024-21626; CVE-2019-5736",
     Category::kProtocol,
     kSupervisor,
     kNever,
     By::kHelper,
     Room::kFull,
     {},
     kAlways},
    {"c02", "inherited-folder", "opens a file outside by way of an inherited folder",
     "CVE-2024-21626", Category::kProtocol, kSupervisor, kNever},
    {"c03",
     "forged-frames",
     "writes a frame of ours to every descriptor beside the standard streams",
     "peers B13 (control apart from code); dify RESULT markers",
     Category::kProtocol,
     kSupervisor,
     kNever,
     By::kHelper,
     Room::kFull,
     {},
     kAlways},
    {"c04", "stream-flags", "makes the shared stdout not block", "shared open file class",
     Category::kProtocol, kNone, kAlways},
    {"c05", "standard-input", "reads our caller's standard input", "deer-flow 3864",
     Category::kProtocol, kSupervisor, kNever},
    {"c06", "take-terminal", "takes the terminal as its own", "CVE-2017-5226", Category::kProtocol,
     kSupervisor, kNever},
    {"c07", "streams-of-others", "lists the descriptors of a process outside",
     "CVE-2019-5736 class", Category::kProtocol, kMount, kNever},
    {"c08", "pipe-size", "changes the size of the pipe that is its stdout", "shared pipe class",
     Category::kProtocol, kSeccomp, kNotTight},
    {"c09", "stream-owner", "asks for signals to its parent when stdout changes", "F_SETOWN class",
     Category::kProtocol, kSeccomp, kOnlyLoose},
    {"c10", "claims-memory", "claims in words and by exit status 137 that memory ran out",
     "verdicts by exit code: snekbox; NeMo Gym 1911", Category::kProtocol, kSupervisor, kNever},
    {"c11", "hostile-bytes", "writes terminal escapes, NUL and broken UTF-8",
     "OSC 52 class; snekbox's decode error", Category::kProtocol, kNone, kAlways},
};

}  // namespace

std::span<const Probe> protocol_catalogue() { return kProbes; }

}  // namespace runner::reach
