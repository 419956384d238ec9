#include "jail/host.h"
namespace jail {
std::vector<Feature> inspect_host() { return {}; }
}  // namespace jail
