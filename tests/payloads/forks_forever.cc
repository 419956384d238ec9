// forks_forever: until it is refused; says how many children it has. forks_forever bomb: every
// child does the same, for ever.
#include <sys/wait.h>
#include <unistd.h>

#include "report.h"

int main(int argc, char**) {
  if (argc > 1)
    while (true) ::fork();
  long long children = 0;
  while (true) {
    const pid_t child = ::fork();
    if (child == 0)
      while (true) ::pause();
    if (child < 0) break;
    ++children;
  }
  payload::say("end", payload::word(errno));
  payload::say("children", children);
}
