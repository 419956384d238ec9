#include <unistd.h>

int main() {
  for (int i = 0; i < 10; ++i)
    if (::fork() == 0)
      while (true) ::pause();
  return 5;
}
