// Does nothing, until a signal with its default action ends it. waits N: N children wait too.
#include <unistd.h>

#include <cstdlib>

#include "report.h"

int main(int argc, char** argv) {
  for (int n = argc > 1 ? std::atoi(argv[1]) : 0; n > 0; --n)
    if (::fork() == 0)
      while (true) ::pause();
  payload::ready();
  while (true) ::pause();
}
