// execs_again PROGRAM: in this process; says why it could not.
#include <unistd.h>

#include "report.h"

int main(int, char** argv) {
  char* const args[] = {argv[1], nullptr};
  ::execv(argv[1], args);
  payload::say("exec", payload::word(errno));
}
