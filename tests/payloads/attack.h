// Programs that try one reach each: named by the first argument, they say "REACHED" or
// "BLOCKED ERRNO". Harmless where they succeed.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "report.h"

namespace payload {

struct Attack {
  const char* name;
  int (*run)(char** args);  // 0: reached; else an errno
};

template <class... Args>
int call(long number, Args... args) {
  return error_of(::syscall(number, args...));
}

inline void tell(int error) {
  if (error == 0) {
    std::puts("REACHED");
  } else {
    say("BLOCKED", word(error));
  }
}

template <std::size_t N>
int run_attack(const Attack (&attacks)[N], int argc, char** argv) {
  for (const Attack& attack : attacks) {
    if (argc > 1 && std::strcmp(attack.name, argv[1]) == 0) {
      tell(attack.run(argv + 2));
      return 0;
    }
  }
  say("UNKNOWN", argc > 1 ? argv[1] : "");
  return 2;
}

}  // namespace payload
