// makes_deep_folders DIR N: one inside the other.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "report.h"

int main(int, char** argv) {
  if (::chdir(argv[1]) != 0) return 1;
  const int wanted = std::atoi(argv[2]);
  int depth = 0;
  int error = 0;
  while (depth < wanted) {
    if (::mkdir("d", 0755) != 0 || ::chdir("d") != 0) {
      error = errno;
      break;
    }
    ++depth;
  }
  payload::say("depth", depth);
  payload::say("end", payload::word(error));
}
