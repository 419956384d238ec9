// The library that a prototype loads: sandglass_join, and CPython's hooks where there is a CPython.
#include <dlfcn.h>

#include "jail/join.h"

namespace {

using Hook = void (*)();

Hook find(const char* name) { return reinterpret_cast<Hook>(::dlsym(RTLD_DEFAULT, name)); }

}  // namespace

int sandglass_join(int orders) {
  static const jail::ForkHooks hooks{find("PyOS_BeforeFork"), find("PyOS_AfterFork_Parent"),
                                     find("PyOS_AfterFork_Child")};
  return jail::serve_join(orders, hooks);
}
