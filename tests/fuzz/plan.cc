// Plans as the spawner gets them: any bytes, read in place.
#include "jail/plan.h"

#include <cstring>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  // A buffer of its own: aligned as a mapping is, and its end is where the sanitizer watches.
  std::vector<std::byte> file(size);
  if (size > 0) std::memcpy(file.data(), data, size);
  const auto view = jail::PlanView::read(file);
  if (!view) return 0;
  std::size_t sum = std::strlen(view->text(view->header().hostname));
  for (const jail::PlanMount& m : view->mounts()) sum += std::strlen(view->text(m.target));
  for (const jail::PlanRlimit& l : view->rlimits()) sum += l.hard;
  for (const sock_filter& f : view->filter()) sum += f.k;
  for (const sock_filter& f : view->init_filter()) sum += f.k;
  return sum == ~std::size_t{0} ? -1 : 0;  // used, so that it is computed
}
