// Every signal to PID 1, to its group, and to everyone: whoever lives says so.
#include <unistd.h>

#include <csignal>

#include "report.h"

int main() {
  for (int s = 1; s < NSIG; ++s)
    if (::signal(s, SIG_IGN) == SIG_ERR) continue;
  int refused = 0;
  for (int s = 0; s < NSIG; ++s)
    if (::kill(1, s) != 0) ++refused;
  payload::say("refused", refused);
  payload::say("everyone", payload::word(payload::error_of(::kill(-1, SIGKILL))));
  ::usleep(100000);
  payload::say("parent", ::getppid());
  return 6;
}
