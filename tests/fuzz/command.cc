// Commands as init gets them: any bytes; argv and env are made pointers in place.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "jail/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::vector<std::byte> file(size);
  if (size > 0) std::memcpy(file.data(), data, size);
  const auto view = jail::CommandView::read(file);
  if (!view) return 0;
  std::size_t sum = std::strlen(view->cwd());
  for (char* const* p = view->argv(); *p != nullptr; ++p) sum += std::strlen(*p);
  for (char* const* p = view->env(); *p != nullptr; ++p) sum += std::strlen(*p);
  for (const jail::CommandInput& input : view->inputs()) {
    if (input.mode > 0777) std::abort();  // it was checked before the pointers were made
    sum += std::strlen(view->text(input.path));
  }
  return sum == ~std::size_t{0} ? -1 : 0;  // used, so that it is computed
}
