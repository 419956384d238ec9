// floods_denied_calls N: so many calls of socket(2), each with the same arguments.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "report.h"

int main(int, char** argv) {
  const long n = std::atol(argv[1]);
  long denied = 0;
  for (long i = 0; i < n; ++i) {
    if (::socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM) ++denied;
    if (i == 999) payload::say("thousand", denied);
  }
  payload::say("denied", denied);
}
