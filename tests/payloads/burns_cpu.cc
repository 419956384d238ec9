// burns_cpu N: N processes that count for ever.
#include <unistd.h>

#include <cstdlib>

int main(int, char** argv) {
  for (int n = std::atoi(argv[1]); n > 1; --n)
    if (::fork() == 0) break;
  for (volatile unsigned long i = 0;;) i = i + 1;
}
