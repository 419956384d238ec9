// fills_memory MIB PROCESSES: each of the processes takes and touches so much, and holds it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "report.h"

int main(int, char** argv) {
  const long mib = std::atol(argv[1]);
  for (int n = std::atoi(argv[2]); n > 1; --n)
    if (::fork() == 0) break;
  for (long i = 0; i < mib; ++i) {
    void* at = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
      payload::say("refused", payload::word(errno));
      return 3;
    }
    std::memset(at, 1, 1 << 20);
  }
  payload::say("touched", mib);
  while (true) ::pause();
}
