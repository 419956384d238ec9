// A grandchild in a session of its own that ignores every signal and keeps stdout open.
#include <unistd.h>

#include <csignal>
#include <tuple>

#include "report.h"

int main() {
  if (::fork() == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    for (int s = 1; s < NSIG; ++s) std::ignore = ::signal(s, SIG_IGN);
    payload::ready();
    while (true) ::pause();
  }
  ::usleep(50000);
  return 4;
}
